/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what an RFB server sends: a step for each piece of a known length, so that no message is kept. */
#include "domain/desktop/rfb.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { /* encodings that are offered */
       ENCODING_RAW = 0,
       ENCODING_SIZE = -223,
       ENCODING_SIZES = -308, /* with screens, and answers to requests */
};

#define SECURITY_NONE 1u
#define REASON_ASKED 1u /* of a new size: this client asked for it */

static unsigned get_u16(const uint8_t *p)
{
        return (unsigned)p[0] << 8 | p[1];
}

static uint32_t get_u32(const uint8_t *p)
{
        return (uint32_t)get_u16(p) << 16 | get_u16(p + 2);
}

static void put_u16(uint8_t *p, unsigned v)
{
        p[0] = (uint8_t)(v >> 8);
        p[1] = (uint8_t)v;
}

static void put_u32(uint8_t *p, uint32_t v)
{
        put_u16(p, v >> 16);
        put_u16(p + 2, v & 0xffff);
}

static int breach(struct cay_error *err, const char *what)
{
        return cay_fail(err, CAY_UNAVAILABLE, "the desktop's server sent %s", what);
}

static void next(struct cay_rfb *r, enum cay_rfb_step step, size_t need)
{
        r->step = step;
        r->need = need;
        r->got = 0;
}

static void skip(struct cay_rfb *r, uint64_t bytes, enum cay_rfb_step after)
{
        r->skip = bytes;
        r->after = after;
        next(r, CAY_RFB_SKIP, 0);
}

void cay_rfb_init(struct cay_rfb *r)
{
        *r = (struct cay_rfb){ 0 };
        cay_buf_init(&r->out, CAY_RFB_OUT_MAX);
        next(r, CAY_RFB_BANNER, 12);
}

static size_t screen_bytes(const struct cay_rfb *r)
{
        return (size_t)r->width * r->height * 4;
}

static void drop_pixels(struct cay_rfb *r)
{
        if (r->pixels)
                cay_budget_give(r->budget, screen_bytes(r));
        free(r->pixels);
        r->pixels = NULL;
}

static int make_pixels(struct cay_rfb *r, struct cay_error *err)
{
        if (r->pixels)
                return 0;
        if (cay_budget_take(r->budget, screen_bytes(r)) < 0)
                return cay_fail(err, CAY_LIMIT, "the daemon's memory for clients is in use; retry");
        r->pixels = calloc(1, screen_bytes(r));
        if (r->pixels)
                return 0;
        cay_budget_give(r->budget, screen_bytes(r));
        return cay_fail(err, CAY_UNAVAILABLE, "no memory for the desktop's screen");
}

void cay_rfb_done(struct cay_rfb *r)
{
        cay_buf_done(&r->out);
        drop_pixels(r);
}

/* Saying */

int cay_rfb_ask(struct cay_rfb *r, bool incremental)
{
        uint8_t m[10] = { 3, incremental };

        put_u16(m + 6, r->width);
        put_u16(m + 8, r->height);
        return cay_buf_put(&r->out, m, sizeof(m));
}

int cay_rfb_sync(struct cay_rfb *r)
{
        static const uint8_t m[10] = { 3, 0, 0, 0, 0, 0, 0, 1, 0, 1 };

        return cay_buf_put(&r->out, m, sizeof(m));
}

int cay_rfb_key(struct cay_rfb *r, uint32_t keysym, bool down)
{
        uint8_t m[8] = { 4, down };

        put_u32(m + 4, keysym);
        return cay_buf_put(&r->out, m, sizeof(m));
}

int cay_rfb_pointer(struct cay_rfb *r, unsigned buttons, unsigned x, unsigned y)
{
        uint8_t m[6] = { 5, (uint8_t)buttons };

        put_u16(m + 2, x);
        put_u16(m + 4, y);
        return cay_buf_put(&r->out, m, sizeof(m));
}

int cay_rfb_resize(struct cay_rfb *r, unsigned width, unsigned height)
{
        uint8_t m[24] = { 251 };

        put_u16(m + 2, width);
        put_u16(m + 4, height);
        m[6] = 1; /* screens */
        put_u16(m + 16, width);
        put_u16(m + 18, height);
        return cay_buf_put(&r->out, m, sizeof(m));
}

static int introduce(struct cay_rfb *r)
{
        static const int32_t encodings[] = { ENCODING_RAW, ENCODING_SIZES, ENCODING_SIZE };
        /* 32 bits of which 24 count, little-endian, true colour, 255 each, shifts 16, 8, 0 */
        static const uint8_t format[20] = { 0, 0,    0, 0,    32, 24, 0, 1, 0, 0xff,
                                            0, 0xff, 0, 0xff, 16, 8,  0, 0, 0, 0 };
        uint8_t set[4 + 4 * (sizeof(encodings) / sizeof(encodings[0]))] = { 2 };

        put_u16(set + 2, sizeof(encodings) / sizeof(encodings[0]));
        for (unsigned i = 0; i < sizeof(encodings) / sizeof(encodings[0]); i++)
                put_u32(set + 4 + 4 * i, (uint32_t)encodings[i]);
        if (cay_buf_put(&r->out, format, sizeof(format)) < 0 || cay_buf_put(&r->out, set, sizeof(set)) < 0)
                return -ENOSPC;
        return r->wants_screen ? cay_rfb_ask(r, false) : 0;
}

/* The screen */

static int set_size(struct cay_rfb *r, unsigned width, unsigned height, struct cay_error *err)
{
        if (width == 0 || height == 0 || width > CAY_RFB_SIDE_MAX || height > CAY_RFB_SIDE_MAX ||
            (uint64_t)width * height > CAY_RFB_PIXELS_MAX)
                return cay_fail(err, CAY_UNAVAILABLE,
                                "the desktop's screen has %u × %u pixels, more than can be shown (%u); make "
                                "it smaller",
                                width, height, CAY_RFB_PIXELS_MAX);
        if (width == r->width && height == r->height)
                return 0;
        drop_pixels(r);
        r->width = width;
        r->height = height;
        r->has_screen = false;
        r->pixels_seen = 0;
        r->sizes++;
        return 0;
}

/* Rectangles of an update do not overlap; a server that sends others spoils its own picture only. */
static int end_update(struct cay_rfb *r, struct cay_error *err)
{
        r->updates += r->has_pixels;
        r->answers++;
        next(r, CAY_RFB_MESSAGE, 1);
        if (((r->wants_screen && !r->has_screen) || r->follows) && cay_rfb_ask(r, true) < 0)
                return breach(err, "updates that nobody asked for");
        return 0;
}

static int end_rect(struct cay_rfb *r, struct cay_error *err)
{
        if (--r->left == 0)
                return end_update(r, err);
        next(r, CAY_RFB_RECT, 12);
        return 0;
}

static int take_rect(struct cay_rfb *r, struct cay_error *err)
{
        struct cay_rfb_rect *q = &r->rect;
        int32_t encoding = (int32_t)get_u32(r->head + 8);

        *q = (struct cay_rfb_rect){ get_u16(r->head), get_u16(r->head + 2), get_u16(r->head + 4),
                                    get_u16(r->head + 6) };
        switch (encoding) {
        case ENCODING_SIZES:
                next(r, CAY_RFB_SCREENS_COUNT, 4);
                return 0;
        case ENCODING_SIZE:
                return set_size(r, q->w, q->h, err) < 0 ? -1 : end_rect(r, err);
        case ENCODING_RAW:
                break;
        default:
                return breach(err, "an encoding that was not offered");
        }
        if (q->x + q->w > r->width || q->y + q->h > r->height)
                return breach(err, "pixels outside of its screen");
        if (make_pixels(r, err) < 0)
                return -1;
        r->pixel_at = 0;
        r->pixel_bytes = (uint64_t)q->w * q->h * 4;
        r->has_pixels = r->has_pixels || r->pixel_bytes > 0;
        next(r, CAY_RFB_PIXELS, 0);
        return 0;
}

static size_t copy_pixels(struct cay_rfb *r, const uint8_t *bytes, size_t len)
{
        const struct cay_rfb_rect *q = &r->rect;
        size_t row_bytes = (size_t)q->w * 4, used = 0;

        while (used < len && r->pixel_at < r->pixel_bytes) {
                size_t row = (size_t)(r->pixel_at / row_bytes), in_row = (size_t)(r->pixel_at % row_bytes);
                size_t n = row_bytes - in_row;

                if (n > len - used)
                        n = len - used;
                memcpy(r->pixels + ((q->y + row) * r->width + q->x) * 4 + in_row, bytes + used, n);
                used += n;
                r->pixel_at += n;
        }
        return used;
}

static int take_screens_count(struct cay_rfb *r, struct cay_error *err)
{
        const struct cay_rfb_rect q = r->rect;

        if (q.x == REASON_ASKED) { /* y says whether it was granted */
                r->size_status = q.y;
                r->sizes++;
        }
        if ((q.x != REASON_ASKED || q.y == 0) && set_size(r, q.w, q.h, err) < 0)
                return -1;
        skip(r, (uint64_t)r->head[0] * 16, CAY_RFB_RECT);
        return 0;
}

static int end_skip(struct cay_rfb *r, struct cay_error *err)
{
        if (r->after == CAY_RFB_RECT)
                return end_rect(r, err);
        next(r, CAY_RFB_MESSAGE, 1);
        return 0;
}

static int end_pixels(struct cay_rfb *r, struct cay_error *err)
{
        r->pixels_seen += r->pixel_bytes / 4;
        r->has_screen = r->has_screen || r->pixels_seen >= (uint64_t)r->width * r->height;
        return end_rect(r, err);
}

static int take_message(struct cay_rfb *r, struct cay_error *err)
{
        switch (r->head[0]) {
        case 0:
                next(r, CAY_RFB_UPDATE, 3);
                return 0;
        case 1:
                next(r, CAY_RFB_COLOURS, 5);
                return 0;
        case 2: /* a bell */
                next(r, CAY_RFB_MESSAGE, 1);
                return 0;
        case 3:
                next(r, CAY_RFB_CUT_TEXT, 7);
                return 0;
        default:
                return breach(err, "an unknown message");
        }
}

static int take_init(struct cay_rfb *r, struct cay_error *err)
{
        uint32_t name = get_u32(r->head + 20);

        if (set_size(r, get_u16(r->head), get_u16(r->head + 2), err) < 0)
                return -1;
        if (name > 4096)
                return breach(err, "a name that is too long");
        if (introduce(r) < 0)
                return cay_fail(err, CAY_INTERNAL, "no room for messages to a desktop's server");
        r->is_open = true;
        skip(r, name, CAY_RFB_MESSAGE);
        return 0;
}

static int take_security(struct cay_rfb *r, struct cay_error *err)
{
        static const uint8_t choice = SECURITY_NONE;

        r->has_none = r->has_none || r->head[0] == SECURITY_NONE;
        if (--r->types_left > 0) {
                next(r, CAY_RFB_SECURITY, 1);
                return 0;
        }
        if (!r->has_none)
                return cay_fail(err, CAY_UNAVAILABLE, "the desktop's server wants a password");
        if (cay_buf_put(&r->out, &choice, 1) < 0)
                return cay_fail(err, CAY_INTERNAL, "no room for messages to a desktop's server");
        next(r, CAY_RFB_SECURITY_RESULT, 4);
        return 0;
}

/* A head is complete. */
static int take_head(struct cay_rfb *r, struct cay_error *err)
{
        static const uint8_t shared = 1;

        switch (r->step) {
        case CAY_RFB_BANNER:
                if (memcmp(r->head, "RFB 003.", 8) != 0 || r->head[11] != '\n')
                        return breach(err, "no banner of RFB 3");
                cay_buf_puts(&r->out, "RFB 003.008\n"); /* the first bytes: there is room */
                next(r, CAY_RFB_SECURITY_COUNT, 1);
                return 0;
        case CAY_RFB_SECURITY_COUNT:
                if (r->head[0] == 0)
                        return cay_fail(err, CAY_UNAVAILABLE, "the desktop's server refuses connections");
                r->types_left = r->head[0];
                next(r, CAY_RFB_SECURITY, 1);
                return 0;
        case CAY_RFB_SECURITY:
                return take_security(r, err);
        case CAY_RFB_SECURITY_RESULT:
                if (get_u32(r->head) != 0)
                        return cay_fail(err, CAY_UNAVAILABLE, "the desktop's server refuses this connection");
                cay_buf_put(&r->out, &shared, 1);
                next(r, CAY_RFB_INIT, 24);
                return 0;
        case CAY_RFB_INIT:
                return take_init(r, err);
        case CAY_RFB_MESSAGE:
                return take_message(r, err);
        case CAY_RFB_UPDATE:
                r->left = get_u16(r->head + 1);
                r->has_pixels = false;
                next(r, CAY_RFB_RECT, 12);
                return r->left > 0 ? 0 : end_update(r, err);
        case CAY_RFB_RECT:
                return take_rect(r, err);
        case CAY_RFB_SCREENS_COUNT:
                return take_screens_count(r, err);
        case CAY_RFB_COLOURS:
                skip(r, (uint64_t)get_u16(r->head + 3) * 6, CAY_RFB_MESSAGE);
                return 0;
        case CAY_RFB_CUT_TEXT:
                skip(r, get_u32(r->head + 3) & 0x7fffffff, CAY_RFB_MESSAGE);
                return 0;
        default:
                return breach(err, "nonsense");
        }
}

int cay_rfb_feed(struct cay_rfb *r, const void *bytes, size_t len, struct cay_error *err)
{
        const uint8_t *at = bytes;

        for (;;) {
                size_t n;

                if (r->step == CAY_RFB_SKIP && r->skip == 0) {
                        if (end_skip(r, err) < 0)
                                return -1;
                        continue;
                }
                if (r->step == CAY_RFB_PIXELS && r->pixel_at == r->pixel_bytes) {
                        if (end_pixels(r, err) < 0)
                                return -1;
                        continue;
                }
                if (len == 0)
                        return 0;
                if (r->step == CAY_RFB_PIXELS) {
                        n = copy_pixels(r, at, len);
                } else if (r->step == CAY_RFB_SKIP) {
                        n = r->skip < len ? (size_t)r->skip : len;
                        r->skip -= n;
                } else {
                        n = r->need - r->got < len ? r->need - r->got : len;
                        memcpy(r->head + r->got, at, n);
                        r->got += n;
                        if (r->got == r->need && take_head(r, err) < 0)
                                return -1;
                }
                at += n;
                len -= n;
        }
}
