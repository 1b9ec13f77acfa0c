/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what a viewer says to an RFB server, and passes on what it may say. */
#include "domain/desktop/viewer.h"

#include <string.h>
#include <sys/types.h>

#include "domain/desktop/rfb.h"

enum message {
        SET_PIXEL_FORMAT = 0,
        SET_ENCODINGS = 2,
        UPDATE_REQUEST = 3,
        KEY = 4,
        POINTER = 5,
        CUT_TEXT = 6,
        CONTINUOUS_UPDATES = 150,
        FENCE = 248,
        SET_SIZE = 251,
        QEMU = 255,
};

#define FENCE_MAX 64u
#define SCREENS_MAX 16u
#define SCREEN_LEN 16u
#define QEMU_KEY 0u
#define SECURITY_NONE 1u

/* How long the head of a message is: what says how long the rest is, and whether it may pass. */
static const struct {
        uint8_t type, head;
} heads[] = {
        { SET_PIXEL_FORMAT, 20 }, { SET_ENCODINGS, 4 }, { UPDATE_REQUEST, 10 },     { KEY, 8 },
        { POINTER, 6 },           { CUT_TEXT, 8 },      { CONTINUOUS_UPDATES, 10 }, { FENCE, 9 },
        { SET_SIZE, 8 },          { QEMU, 12 },
};

/* Pictures, and extensions whose messages are known here. Ranges, both ends included. */
static const struct {
        int32_t first, last;
} encodings[] = {
        { 0, 2 },                                     /* raw, copies, rectangles */
        { 5, 7 },                                     /* hextile, zlib, tight */
        { 16, 16 },                                   /* ZRLE */
        { 21, 21 },                                   /* JPEG */
        { 50, 50 },                                   /* H.264 */
        { -32, -23 },                                 /* quality */
        { -224, -223 },                               /* the last rectangle, the size */
        { -240, -239 },                               /* the pointer's shape */
        { -256, -247 },                               /* compression */
        { -258, -258 },                               /* keys with their codes */
        { -261, -260 },                               /* lights of the keyboard, tight with PNG */
        { -308, -307 },                               /* screens, the desktop's name */
        { -313, -312 },                               /* continuous updates, fences */
        { 0x574d5664, 0x574d5664 },                   /* the pointer's shape with transparency */
        { (int32_t)0xc0a1e5ce, (int32_t)0xc0a1e5ce }, /* the clipboard in UTF-8 */
};

static unsigned get_u16(const uint8_t *p)
{
        return (unsigned)p[0] << 8 | p[1];
}

static uint32_t get_u32(const uint8_t *p)
{
        return (uint32_t)get_u16(p) << 16 | get_u16(p + 2);
}

static void put_u16(uint8_t *p, unsigned value)
{
        p[0] = (uint8_t)(value >> 8);
        p[1] = (uint8_t)value;
}

static void next(struct cay_rfb_viewer *v, enum cay_viewer_step step, size_t need)
{
        v->step = step;
        v->need = need;
        v->got = 0;
}

static void next_message(struct cay_rfb_viewer *v)
{
        next(v, CAY_VIEWER_MESSAGE, 1);
}

static int breach(struct cay_error *err, const char *what)
{
        return cay_fail(err, CAY_INVALID, "the viewer sent %s; noVNC and other viewers of RFB 3.8 work",
                        what);
}

void cay_viewer_init(struct cay_rfb_viewer *v)
{
        *v = (struct cay_rfb_viewer){ 0 };
        cay_buf_init(&v->out, CAY_VIEWER_OUT_MAX);
        next(v, CAY_VIEWER_BANNER, 12);
}

void cay_viewer_done(struct cay_rfb_viewer *v)
{
        cay_buf_done(&v->out);
}

static int say(struct cay_rfb_viewer *v, const void *bytes, size_t len, struct cay_error *err)
{
        return cay_buf_put(&v->out, bytes, len) < 0
                       ? cay_fail(err, CAY_INTERNAL, "no memory for what a viewer says")
                       : 0;
}

/* Passes the head on, and what follows it. */
static int pass(struct cay_rfb_viewer *v, uint64_t rest, struct cay_error *err)
{
        if (say(v, v->head, v->got, err) < 0)
                return -1;
        next(v, CAY_VIEWER_PASS, 0);
        v->left = rest;
        return 0;
}

static int leave_out(struct cay_rfb_viewer *v, uint64_t rest)
{
        next(v, CAY_VIEWER_SKIP, 0);
        v->left = rest;
        return 0;
}

/* Input */

static bool may_act(struct cay_rfb_viewer *v)
{
        bool may = !v->only_looks && (!v->may_act || v->may_act(v));

        v->refused += !may;
        return may;
}

static void note(struct cay_rfb_viewer *v, const struct cay_viewer_input *input)
{
        v->holds = v->buttons != 0 || v->key_count > 0;
        if (v->on_act)
                v->on_act(v, input);
}

static unsigned find_key(const struct cay_rfb_viewer *v, uint32_t keysym)
{
        unsigned i = 0;

        while (i < v->key_count && v->keys[i] != keysym)
                i++;
        return i;
}

static int take_key(struct cay_rfb_viewer *v, uint32_t keysym, bool down, struct cay_error *err)
{
        static const struct cay_viewer_input input = { 0 };
        unsigned at = find_key(v, keysym);
        bool is_known = at < v->key_count;

        if (!(is_known && !down) && !may_act(v))
                return leave_out(v, 0);
        if (is_known && !down)
                v->keys[at] = v->keys[--v->key_count];
        else if (!is_known && down && v->key_count < CAY_VIEWER_KEYS_MAX)
                v->keys[v->key_count++] = keysym;
        note(v, &input);
        return pass(v, 0, err);
}

static int take_pointer(struct cay_rfb_viewer *v, struct cay_error *err)
{
        struct cay_viewer_input input = { .is_pointer = true,
                                          .buttons = v->head[1],
                                          .x = get_u16(v->head + 2),
                                          .y = get_u16(v->head + 4) };
        bool is_release =
                v->buttons != 0 && (input.buttons & ~v->buttons) == 0 && input.buttons != v->buttons;

        if (v->drag_refused && input.buttons != 0)
                return leave_out(v, 0);
        v->drag_refused = false;
        if (!is_release && !may_act(v)) {
                v->drag_refused = input.buttons != 0 && v->buttons == 0;
                return leave_out(v, 0);
        }
        v->buttons = input.buttons;
        memcpy(v->place, v->head + 2, sizeof(v->place));
        note(v, &input);
        return pass(v, 0, err);
}

/* A negative length is the extended clipboard's. */
static int take_cut_text(struct cay_rfb_viewer *v, struct cay_error *err)
{
        static const struct cay_viewer_input input = { 0 };
        uint32_t len = get_u32(v->head + 4);

        if (len & 0x80000000u)
                len = 0u - len;
        if (len > CAY_VIEWER_TEXT_MAX || !may_act(v))
                return leave_out(v, len);
        note(v, &input);
        return pass(v, len, err);
}

static int take_size(struct cay_rfb_viewer *v, struct cay_error *err)
{
        unsigned width = get_u16(v->head + 2), height = get_u16(v->head + 4), screens = v->head[6];
        bool is_fine = width > 0 && height > 0 && width <= CAY_RFB_SIDE_MAX && height <= CAY_RFB_SIDE_MAX &&
                       (uint64_t)width * height <= CAY_RFB_PIXELS_MAX && screens > 0 &&
                       screens <= SCREENS_MAX;

        if (is_fine && may_act(v)) {
                static const struct cay_viewer_input input = { 0 };

                note(v, &input);
                return pass(v, (uint64_t)screens * SCREEN_LEN, err);
        }
        v->head[6] = 0; /* no screens */
        if (say(v, v->head, v->got, err) < 0)
                return -1;
        return leave_out(v, (uint64_t)screens * SCREEN_LEN);
}

/* Encodings */

static bool is_known(int32_t encoding)
{
        for (unsigned i = 0; i < CAY_COUNT(encodings); i++)
                if (encoding >= encodings[i].first && encoding <= encodings[i].last)
                        return true;
        return false;
}

static int end_encodings(struct cay_rfb_viewer *v, struct cay_error *err)
{
        put_u16(v->kept + 2, v->offered);
        if (say(v, v->kept, 4 + 4 * (size_t)v->offered, err) < 0)
                return -1;
        next_message(v);
        return 0;
}

static int take_encodings(struct cay_rfb_viewer *v, struct cay_error *err)
{
        v->encodings = get_u16(v->head + 2);
        if (v->encodings > CAY_VIEWER_ENCODINGS_MAX)
                return breach(err, "too many encodings");
        memset(v->kept, 0, 4);
        v->kept[0] = SET_ENCODINGS;
        v->offered = 0;
        next(v, CAY_VIEWER_ENCODING, 4);
        return v->encodings > 0 ? 0 : end_encodings(v, err);
}

static int take_encoding(struct cay_rfb_viewer *v, struct cay_error *err)
{
        if (is_known((int32_t)get_u32(v->head)))
                memcpy(v->kept + 4 + 4 * (size_t)v->offered++, v->head, 4);
        next(v, CAY_VIEWER_ENCODING, 4);
        return --v->encodings > 0 ? 0 : end_encodings(v, err);
}

/* Messages */

static int take_message(struct cay_rfb_viewer *v, struct cay_error *err)
{
        for (unsigned i = 0; i < CAY_COUNT(heads); i++) {
                if (heads[i].type != v->head[0])
                        continue;
                v->step = CAY_VIEWER_HEAD; /* its first byte is there */
                v->need = heads[i].head;
                return 0;
        }
        return breach(err, "a message of an unknown kind");
}

static int take_rest(struct cay_rfb_viewer *v, struct cay_error *err)
{
        switch (v->head[0]) {
        case SET_ENCODINGS:
                return take_encodings(v, err);
        case KEY:
                return take_key(v, get_u32(v->head + 4), v->head[1] != 0, err);
        case QEMU:
                if (v->head[1] != QEMU_KEY)
                        return breach(err, "an unknown extension of QEMU's");
                return take_key(v, get_u32(v->head + 4), get_u16(v->head + 2) != 0, err);
        case POINTER:
                return take_pointer(v, err);
        case CUT_TEXT:
                return take_cut_text(v, err);
        case SET_SIZE:
                return take_size(v, err);
        case FENCE:
                return v->head[8] > FENCE_MAX ? breach(err, "a fence that is too long")
                                              : pass(v, v->head[8], err);
        default: /* SET_PIXEL_FORMAT, UPDATE_REQUEST, CONTINUOUS_UPDATES: their heads are all */
                return pass(v, 0, err);
        }
}

static int take_head(struct cay_rfb_viewer *v, struct cay_error *err)
{
        static const uint8_t shared = 1;

        switch (v->step) {
        case CAY_VIEWER_BANNER:
                if (memcmp(v->head, "RFB 003.008\n", 12) != 0)
                        return breach(err, "another version than RFB 003.008");
                next(v, CAY_VIEWER_SECURITY, 1);
                return say(v, v->head, 12, err);
        case CAY_VIEWER_SECURITY:
                if (v->head[0] != SECURITY_NONE)
                        return breach(err, "a security type other than None");
                next(v, CAY_VIEWER_INIT, 1);
                return say(v, v->head, 1, err);
        case CAY_VIEWER_INIT:
                next_message(v);
                return say(v, &shared, 1, err);
        case CAY_VIEWER_MESSAGE:
                return take_message(v, err);
        case CAY_VIEWER_HEAD:
                return take_rest(v, err);
        case CAY_VIEWER_ENCODING:
                return take_encoding(v, err);
        default:
                return breach(err, "nonsense");
        }
}

/* PASS and SKIP. How many bytes were used. */
static ssize_t take_left(struct cay_rfb_viewer *v, const uint8_t *at, size_t len, struct cay_error *err)
{
        size_t n = v->left < len ? (size_t)v->left : len;

        if (v->step == CAY_VIEWER_PASS && n > CAY_VIEWER_OUT_HIGH)
                n = CAY_VIEWER_OUT_HIGH; /* OUT_MAX is twice as much */
        if (v->step == CAY_VIEWER_PASS && say(v, at, n, err) < 0)
                return -1;
        v->left -= n;
        return (ssize_t)n;
}

int cay_viewer_feed(struct cay_rfb_viewer *v, const void *bytes, size_t len, size_t *ret_taken,
                    struct cay_error *err)
{
        const uint8_t *at = bytes, *end = at + len;

        for (;;) {
                bool is_rest = v->step == CAY_VIEWER_PASS || v->step == CAY_VIEWER_SKIP;

                if (is_rest && v->left == 0) {
                        next_message(v);
                        continue;
                }
                *ret_taken = (size_t)(at - (const uint8_t *)bytes);
                if (at == end || v->out.len >= CAY_VIEWER_OUT_HIGH)
                        return 0;
                if (is_rest) {
                        ssize_t n = take_left(v, at, (size_t)(end - at), err);

                        if (n < 0)
                                return -1;
                        at += n;
                } else {
                        size_t n =
                                v->need - v->got < (size_t)(end - at) ? v->need - v->got : (size_t)(end - at);

                        memcpy(v->head + v->got, at, n);
                        v->got += n;
                        at += n;
                        if (v->got == v->need && take_head(v, err) < 0)
                                return -1;
                }
        }
}

bool cay_viewer_leave(struct cay_rfb_viewer *v)
{
        uint8_t up[6] = { POINTER };

        if (v->buttons == 0 ||
            v->step == CAY_VIEWER_PASS) /* the server would take it for the rest of a text */
                return false;
        memcpy(up + 2, v->place, sizeof(v->place));
        v->buttons = 0;
        return cay_buf_put(&v->out, up, sizeof(up)) == 0;
}
