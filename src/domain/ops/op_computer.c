/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Computer use: the pointer and the keys of a sandbox's desktop. What acts starts the desktop if none runs.
 */
#include <stdlib.h>
#include <string.h>

#include "domain/desktop/keys.h"
#include "domain/desktop/seats.h"
#include "domain/ops/computer.h"
#include "domain/ops/computer_args.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/view.h"
#include "foundation/base/clock.h"
#include "foundation/base/utf8.h"

#define STEP_MS 40u  /* between a move, a press and a release */
#define WHEEL_MS 12u /* between two notches */
#define DRAG_STEPS 12u
#define DRAG_MS 15u
#define KEY_MS 10u
#define BATCH 8u /* characters that are typed at once */
#define BATCH_MS 8u
/* for a character that the keyboard has to learn first: programs must see it before the next one */
#define RARE_MS 20u
#define AMOUNT_DEFAULT 3u

struct action {
        struct cay_computer m; /* first */
};

static struct cay_picture picture_of(const struct cay_computer *m)
{
        const struct cay_computer_args *a = m->call->args;

        return cay_picture_of(m->rfb.width, m->rfb.height,
                              a->scale ? (unsigned)a->scale : CAY_PICTURE_SCALE_ONE);
}

/* Where the pointer is, in the caller's scale. */
static void answer_position(struct cay_computer *m)
{
        struct cay_picture p = picture_of(m);
        unsigned x, y;
        bool known = cay_seat_pointer(m->use.world->seats, m->use.sandbox, &x, &y);
        struct cay_op_call *c;
        struct cay_op_result o;

        if (known)
                cay_picture_back(&p, x < p.screen_width ? x : p.screen_width - 1,
                                 y < p.screen_height ? y : p.screen_height - 1, &x, &y);
        c = cay_computer_finish(m);
        if (!c)
                return;
        cay_op_result_begin(&o, c);
        cay_op_key_u64(&o.j, "width", p.width);
        cay_op_key_u64(&o.j, "height", p.height);
        cay_json_key(&o.j, "x");
        known ? cay_json_u64(&o.j, x) : cay_json_null(&o.j);
        cay_json_key(&o.j, "y");
        known ? cay_json_u64(&o.j, y) : cay_json_null(&o.j);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

RESULT(result_position, "ComputerPosition", NUMBER("width"), NUMBER("height"), MAYBE("x", NUMBER),
       MAYBE("y", NUMBER));

static void begin_with(struct cay_op_call *c, void (*on_ready)(struct cay_computer *m), bool only_running)
{
        const struct cay_computer_args *a = c->args;
        struct action *s = cay_computer_new(c, sizeof(*s));

        if (!s)
                return;
        s->m.on_ready = on_ready;
        s->m.on_inputs = answer_position;
        s->m.use.only_running = only_running;
        cay_computer_begin(&s->m, a->id);
}

static void begin(struct cay_op_call *c, void (*on_ready)(struct cay_computer *m))
{
        begin_with(c, on_ready, false);
}

/* The point that the caller means: on the screen. Without x and y the pointer stays where it is. */
static int find_point(const struct cay_computer *m, unsigned *ret_x, unsigned *ret_y, struct cay_error *err)
{
        const struct cay_computer_args *a = m->call->args;
        struct cay_picture p = picture_of(m);

        if (a->has_x != a->has_y)
                return cay_fail(err, CAY_INVALID, "%s: is missing; give both x and y", a->has_x ? "y" : "x");
        if (a->has_x)
                return cay_picture_point(&p, a->x, a->y, ret_x, ret_y, err);
        if (!cay_seat_pointer(m->use.world->seats, m->use.sandbox, ret_x, ret_y))
                return cay_fail(err, CAY_INVALID, "x: is missing, and nobody has moved the pointer yet");
        return 0;
}

static void play_or_fail(struct cay_computer *m, int r, struct cay_error *err)
{
        if (r == 0) {
                cay_computer_play(m);
                return;
        }
        if (err->code == CAY_OK)
                cay_fail(err, CAY_LIMIT, "that is more input than fits into one call; send it in parts");
        cay_computer_fail(m, err);
}

/* Modifiers that are held meanwhile. */
static int add_held(struct cay_computer *m, bool down, struct cay_error *err)
{
        const struct cay_computer_args *a = m->call->args;
        const char *at = a->keys ? a->keys : "";
        struct cay_chord chord;
        int r = 0;

        if (a->keys && cay_chord_next(&at, &chord, err) < 0)
                return -1;
        if (*at != '\0')
                return cay_fail(err, CAY_INVALID, "keys: only one combination can be held, like ctrl+shift");
        for (unsigned i = 0; a->keys && i < chord.count && r == 0; i++)
                r = cay_computer_add_key(m, chord.keys[down ? i : chord.count - 1 - i], down, KEY_MS);
        return r;
}

/* Moving */

static void on_move_ready(struct cay_computer *m)
{
        struct cay_error err = { 0 };
        unsigned x, y;
        int r = find_point(m, &x, &y, &err);

        play_or_fail(m, r < 0 ? r : cay_computer_add_pointer(m, 0, x, y, STEP_MS), &err);
}

static void run_move(struct cay_op_call *c)
{
        begin(c, on_move_ready);
}

static const struct cay_field move_fields[] = {
        COMPUTER_ID, COMPUTER_X(CAY_FIELD_REQUIRED), COMPUTER_Y(CAY_FIELD_REQUIRED), COMPUTER_SCALE, {},
};

const struct cay_op cay_op_computer_move = {
        .name = "computer_move",
        .route = "POST /api/sandboxes/{id}/computer/move",
        .doc = "Moves the pointer of a sandbox's desktop",
        .scope = CAY_SCOPE_EXEC,
        .fields = move_fields,
        .args_size = sizeof(struct cay_computer_args),
        .result = &result_position,
        .tool = CAY_TOOL("Move pointer", "Moves the pointer to a point of the screenshot.",
                         .group = "computer"),
        .verb = CAY_OP_VERB("computer move", "id x y"),
        .run = run_move,
};

/* Clicking */

static int find_button(const char *name, unsigned *ret, struct cay_error *err)
{
        static const struct {
                const char *name;
                unsigned button;
        } rows[] = { { "left", CAY_BUTTON_LEFT },
                     { "middle", CAY_BUTTON_MIDDLE },
                     { "right", CAY_BUTTON_RIGHT } };

        *ret = CAY_BUTTON_LEFT;
        for (unsigned i = 0; name && i < CAY_COUNT(rows); i++) {
                if (strcmp(rows[i].name, name) == 0) {
                        *ret = rows[i].button;
                        return 0;
                }
        }
        return name ? cay_fail(err, CAY_INVALID, "button: must be left, middle or right") : 0;
}

static int add_click(struct cay_computer *m, struct cay_error *err)
{
        const struct cay_computer_args *a = m->call->args;
        uint64_t count = a->count ? a->count : 1;
        unsigned x, y, button;
        int r;

        if (find_point(m, &x, &y, err) < 0 || find_button(a->button, &button, err) < 0)
                return -1;
        r = cay_computer_add_pointer(m, 0, x, y, STEP_MS);
        if (r == 0)
                r = add_held(m, true, err);
        for (uint64_t i = 0; i < count && r == 0; i++) {
                r = cay_computer_add_pointer(m, button, x, y, STEP_MS);
                if (r == 0)
                        r = cay_computer_add_pointer(m, 0, x, y, STEP_MS);
        }
        return r < 0 ? r : add_held(m, false, err);
}

static void on_click_ready(struct cay_computer *m)
{
        struct cay_error err = { 0 };

        play_or_fail(m, add_click(m, &err), &err);
}

static void run_click(struct cay_op_call *c)
{
        begin(c, on_click_ready);
}

static const struct cay_field click_fields[] = {
        COMPUTER_ID,
        COMPUTER_X(0),
        COMPUTER_Y(0),
        COMPUTER_SCALE,
        COMPUTER_BUTTON,
        { "count", CAY_FIELD_U64, offsetof(struct cay_computer_args, count), 0,
          "2: a double click; default 1", .min = 1, .max = 3 },
        COMPUTER_HELD,
        {},
};

const struct cay_op cay_op_computer_click = {
        .name = "computer_click",
        .route = "POST /api/sandboxes/{id}/computer/click",
        .doc = "Clicks at a point of a sandbox's desktop, or where the pointer is",
        .scope = CAY_SCOPE_EXEC,
        .fields = click_fields,
        .args_size = sizeof(struct cay_computer_args),
        .result = &result_position,
        .tool = CAY_TOOL("Click", "Clicks at a point of the screenshot.", .group = "computer"),
        .verb = CAY_OP_VERB("computer click", "id x? y?"),
        .run = run_click,
};

/* Dragging */

static int add_drag(struct cay_computer *m, struct cay_error *err)
{
        const struct cay_computer_args *a = m->call->args;
        struct cay_picture p = picture_of(m);
        unsigned x, y, to_x, to_y, button;
        int r;

        if (find_point(m, &x, &y, err) < 0 || find_button(a->button, &button, err) < 0)
                return -1;
        if (cay_picture_point(&p, a->to_x, a->to_y, &to_x, &to_y, err) < 0) {
                *err = (struct cay_error){ 0 };
                return cay_fail(err, CAY_INVALID, "%s: is outside of the picture, which has %u × %u pixels",
                                a->to_x >= p.width ? "to_x" : "to_y", p.width, p.height);
        }
        r = cay_computer_add_pointer(m, 0, x, y, STEP_MS);
        if (r == 0)
                r = add_held(m, true, err);
        if (r == 0)
                r = cay_computer_add_pointer(m, button, x, y, STEP_MS);
        for (unsigned i = 1; i <= DRAG_STEPS && r == 0; i++)
                r = cay_computer_add_pointer(
                        m, button, (unsigned)((int)x + ((int)to_x - (int)x) * (int)i / (int)DRAG_STEPS),
                        (unsigned)((int)y + ((int)to_y - (int)y) * (int)i / (int)DRAG_STEPS), DRAG_MS);
        if (r == 0)
                r = cay_computer_add_pointer(m, 0, to_x, to_y, STEP_MS);
        return r < 0 ? r : add_held(m, false, err);
}

static void on_drag_ready(struct cay_computer *m)
{
        struct cay_error err = { 0 };

        play_or_fail(m, add_drag(m, &err), &err);
}

static void run_drag(struct cay_op_call *c)
{
        begin(c, on_drag_ready);
}

static const struct cay_field drag_fields[] = {
        COMPUTER_ID,
        COMPUTER_X(CAY_FIELD_REQUIRED),
        COMPUTER_Y(CAY_FIELD_REQUIRED),
        { "to_x", CAY_FIELD_U64, offsetof(struct cay_computer_args, to_x), CAY_FIELD_REQUIRED,
          "where it ends", .max = COMPUTER_SIDE_MAX },
        { "to_y", CAY_FIELD_U64, offsetof(struct cay_computer_args, to_y), CAY_FIELD_REQUIRED,
          "where it ends", .max = COMPUTER_SIDE_MAX },
        COMPUTER_SCALE,
        COMPUTER_BUTTON,
        COMPUTER_HELD,
        {},
};

const struct cay_op cay_op_computer_drag = {
        .name = "computer_drag",
        .route = "POST /api/sandboxes/{id}/computer/drag",
        .doc = "Drags from one point of a sandbox's desktop to another",
        .scope = CAY_SCOPE_EXEC,
        .fields = drag_fields,
        .args_size = sizeof(struct cay_computer_args),
        .result = &result_position,
        .tool = CAY_TOOL("Drag", "Drags from one point of the screenshot to another.", .group = "computer"),
        .verb = CAY_OP_VERB("computer drag", "id x y to_x to_y"),
        .run = run_drag,
};

/* Scrolling */

static int find_wheel(const char *direction, unsigned *ret, struct cay_error *err)
{
        static const struct {
                const char *name;
                unsigned wheel;
        } rows[] = { { "up", CAY_WHEEL_UP },
                     { "down", CAY_WHEEL_DOWN },
                     { "left", CAY_WHEEL_LEFT },
                     { "right", CAY_WHEEL_RIGHT } };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                if (strcmp(rows[i].name, direction) == 0) {
                        *ret = rows[i].wheel;
                        return 0;
                }
        }
        return cay_fail(err, CAY_INVALID, "direction: must be up, down, left or right");
}

static int add_scroll(struct cay_computer *m, struct cay_error *err)
{
        const struct cay_computer_args *a = m->call->args;
        uint64_t amount = a->amount ? a->amount : AMOUNT_DEFAULT;
        unsigned x, y, wheel = 0;
        int r;

        if (find_wheel(a->direction, &wheel, err) < 0 || find_point(m, &x, &y, err) < 0)
                return -1;
        r = cay_computer_add_pointer(m, 0, x, y, STEP_MS);
        if (r == 0)
                r = add_held(m, true, err);
        for (uint64_t i = 0; i < amount && r == 0; i++) {
                r = cay_computer_add_pointer(m, wheel, x, y, 0);
                if (r == 0)
                        r = cay_computer_add_pointer(m, 0, x, y, WHEEL_MS);
        }
        return r < 0 ? r : add_held(m, false, err);
}

static void on_scroll_ready(struct cay_computer *m)
{
        struct cay_error err = { 0 };

        play_or_fail(m, add_scroll(m, &err), &err);
}

static void run_scroll(struct cay_op_call *c)
{
        begin(c, on_scroll_ready);
}

static const struct cay_field scroll_fields[] = {
        COMPUTER_ID,
        { "direction", CAY_FIELD_TEXT, offsetof(struct cay_computer_args, direction), CAY_FIELD_REQUIRED,
          "up, down, left or right", .min = 1, .max = 8 },
        { "amount", CAY_FIELD_U64, offsetof(struct cay_computer_args, amount), 0,
          "notches of the wheel; default 3", .min = 1, .max = 100 },
        COMPUTER_X(0),
        COMPUTER_Y(0),
        COMPUTER_SCALE,
        COMPUTER_HELD,
        {},
};

const struct cay_op cay_op_computer_scroll = {
        .name = "computer_scroll",
        .route = "POST /api/sandboxes/{id}/computer/scroll",
        .doc = "Turns the wheel at a point of a sandbox's desktop, or where the pointer is",
        .scope = CAY_SCOPE_EXEC,
        .fields = scroll_fields,
        .args_size = sizeof(struct cay_computer_args),
        .result = &result_position,
        .tool = CAY_TOOL("Scroll", "Turns the wheel at a point of the screenshot.", .group = "computer"),
        .verb = CAY_OP_VERB("computer scroll", "id direction amount?"),
        .run = run_scroll,
};

/* Keys */

static int add_keys(struct cay_computer *m, struct cay_error *err)
{
        const struct cay_computer_args *a = m->call->args;
        const char *at = a->keys;
        struct cay_chord chord;
        int r;

        while ((r = cay_chord_next(&at, &chord, err)) > 0) {
                for (unsigned i = 0; i < chord.count; i++)
                        if (cay_computer_add_key(m, chord.keys[i], true,
                                                 i + 1 == chord.count && a->hold ? (unsigned)a->hold
                                                                                 : KEY_MS) < 0)
                                return -1;
                for (unsigned i = chord.count; i > 0; i--)
                        if (cay_computer_add_key(m, chord.keys[i - 1], false, KEY_MS) < 0)
                                return -1;
        }
        return r;
}

static void on_keys_ready(struct cay_computer *m)
{
        struct cay_error err = { 0 };

        play_or_fail(m, add_keys(m, &err), &err);
}

static void run_keys(struct cay_op_call *c)
{
        begin(c, on_keys_ready);
}

static const struct cay_field key_fields[] = {
        COMPUTER_ID,
        { "keys", CAY_FIELD_TEXT, offsetof(struct cay_computer_args, keys), CAY_FIELD_REQUIRED,
          "keys by their names in X11: Return, Page_Down, ctrl+c; several separated by blanks", .min = 1,
          .max = 400 },
        { "hold", CAY_FIELD_DURATION, offsetof(struct cay_computer_args, hold), 0,
          "how long each is held; default: a moment", .max = 10000 },
        {},
};

const struct cay_op cay_op_computer_key = {
        .name = "computer_key",
        .route = "POST /api/sandboxes/{id}/computer/key",
        .doc = "Presses keys on a sandbox's desktop",
        .scope = CAY_SCOPE_EXEC,
        .fields = key_fields,
        .args_size = sizeof(struct cay_computer_args),
        .result = &result_position,
        .tool = CAY_TOOL("Press keys", "Presses keys: Return, ctrl+c, alt+F4.", .group = "computer"),
        .verb = CAY_OP_VERB("computer key", "id keys"),
        .run = run_keys,
};

/* Text */

static int add_text(struct cay_computer *m, struct cay_error *err)
{
        const struct cay_computer_args *a = m->call->args;
        size_t left = strlen(a->text);
        unsigned nr = 0;

        for (const char *at = a->text; left > 0; nr++) {
                size_t n = cay_utf8_next(at, left);
                uint32_t character = n > 0 ? cay_utf8_decode(at, n) : 0,
                         key = n > 0 ? cay_key_of(character) : 0;
                unsigned pause = character > 0xff ? RARE_MS : nr % BATCH == BATCH - 1 ? BATCH_MS : 0;

                if (key == 0)
                        return cay_fail(err, CAY_INVALID,
                                        "text: has a character that no key types (number %u, U+%04X); use "
                                        "computer_key for keys",
                                        nr + 1, character);
                if (cay_computer_add_key(m, key, true, character > 0xff ? KEY_MS : 0) < 0 ||
                    cay_computer_add_key(m, key, false, pause) < 0)
                        return -1;
                at += n;
                left -= n;
        }
        return 0;
}

static void on_text_ready(struct cay_computer *m)
{
        struct cay_error err = { 0 };

        play_or_fail(m, add_text(m, &err), &err);
}

static void run_type(struct cay_op_call *c)
{
        begin(c, on_text_ready);
}

static const struct cay_field type_fields[] = {
        COMPUTER_ID,
        { "text", CAY_FIELD_TEXT, offsetof(struct cay_computer_args, text), CAY_FIELD_REQUIRED,
          "any characters; a newline is Return", .min = 1, .max = 8192 },
        {},
};

const struct cay_op cay_op_computer_type = {
        .name = "computer_type",
        .route = "POST /api/sandboxes/{id}/computer/type",
        .doc = "Types text on a sandbox's desktop",
        .scope = CAY_SCOPE_EXEC,
        .fields = type_fields,
        .args_size = sizeof(struct cay_computer_args),
        .result = &result_position,
        .tool = CAY_TOOL("Type text", "Types text into the window that has the focus.", .group = "computer"),
        .verb = CAY_OP_VERB("computer type", "id text"),
        .run = run_type,
};

/* Where the pointer is */

static void run_screen(struct cay_op_call *c)
{
        begin_with(c, answer_position, true);
}

static const struct cay_field screen_fields[] = { COMPUTER_ID, COMPUTER_SCALE, {} };

const struct cay_op cay_op_computer_screen = {
        .name = "computer_screen",
        .route = "GET /api/sandboxes/{id}/computer",
        .doc = "Returns the size of a sandbox's desktop and where the pointer is, which is null until "
               "somebody has "
               "moved it",
        .scope = CAY_SCOPE_READ,
        .fields = screen_fields,
        .args_size = sizeof(struct cay_computer_args),
        .result = &result_position,
        .tool = CAY_TOOL("Screen", "Size of the screen, and where the pointer is.", .flags = CAY_TOOL_READS,
                         .group = "computer"),
        .verb = CAY_OP_VERB("computer", "id"),
        .run = run_screen,
};
