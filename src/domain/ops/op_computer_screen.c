/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The screen of a sandbox's desktop: as a picture, and until nothing changes on it. A picture is made in
 * parts, one in each round of the loop, since a large one takes longer than others should wait.
 */
#include <stdlib.h>
#include <string.h>

#include "domain/ops/computer.h"
#include "domain/ops/computer_args.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/view.h"
#include "foundation/base/clock.h"
#include "foundation/compress/png.h"

#define PNG_MAX (40u * 1024 * 1024) /* the largest screen, of noise */
#define ROUND_PIXELS (256u * 1024)  /* of the screen */
#define PIECE (64u * 1024)
#define STILL_DEFAULT_MS 500u
#define TIMEOUT_DEFAULT_MS 10000u

struct watch {
        struct cay_computer m; /* first */
        struct cay_timer still, late, next;
        uint64_t seen;     /* updates */
        uint64_t since_ms; /* of the beginning */
        bool is_screenshot;
        bool is_late; /* a screenshot that waits for no stillness any more */
        struct cay_picture picture;
        struct cay_png *png; /* owned */
        uint8_t *row;        /* owned */
        unsigned y;
        struct cay_buf bytes;
        bool has_begun;
};

static struct watch *of(struct cay_computer *m)
{
        return cay_container_of(m, struct watch, m);
}

static void free_watch(struct cay_computer *m)
{
        struct watch *s = of(m);

        cay_timer_clear(&s->still);
        cay_timer_clear(&s->late);
        cay_timer_clear(&s->next);
        cay_png_free(s->png);
        free(s->row);
        cay_buf_done(&s->bytes);
}

/* The picture */

static void fail_picture(struct watch *s)
{
        struct cay_error err = { 0 };

        cay_fail(&err, CAY_LIMIT, "no memory for a picture of this size; use a smaller scale, or retry");
        cay_computer_fail(&s->m, &err);
}

static void send_picture(struct watch *s)
{
        struct cay_op_call *c = s->m.call;
        const struct cay_op_bytes head = { .type = "image/png",
                                           .length = s->bytes.len,
                                           .name = "screen.png" };
        ssize_t queued = 0;

        if (!s->has_begun) {
                s->has_begun = true;
                if (cay_op_begin(c, &head) < 0)
                        return; /* on_gone comes */
        }
        while (s->bytes.len > 0 && queued >= 0 && queued < (ssize_t)CAY_OP_HIGH) {
                size_t n = s->bytes.len < PIECE ? s->bytes.len : PIECE;

                queued = cay_op_write(c, cay_buf_data(&s->bytes), n);
                cay_buf_drop(&s->bytes, n);
        }
        if (queued < 0 || s->bytes.len > 0)
                return; /* on_gone or on_drain comes */
        c = cay_computer_finish(&s->m);
        if (c)
                cay_op_end(c);
}

static void on_drain(struct cay_op_call *c)
{
        struct watch *s = of(c->state);

        if (s->has_begun)
                send_picture(s);
}

static void on_next(struct cay_timer *t)
{
        struct watch *s = cay_container_of(t, struct watch, next);
        unsigned rows =
                1 + ROUND_PIXELS * s->picture.height / (s->picture.screen_width * s->picture.screen_height);

        if (s->m.is_over)
                return;
        for (; rows > 0 && s->y < s->picture.height; rows--, s->y++) {
                bool repeats = s->y > 0 && cay_picture_repeats(&s->picture, s->m.rfb.pixels, s->y);

                if (!repeats)
                        cay_picture_row(&s->picture, s->m.rfb.pixels, s->y, s->row);
                if (cay_png_row(s->png, repeats ? NULL : s->row) < 0) {
                        fail_picture(s);
                        return;
                }
        }
        if (s->y < s->picture.height)
                cay_timer_set(s->m.use.world->loop, &s->next, 0, on_next);
        else if (cay_png_end(s->png) < 0)
                fail_picture(s);
        else
                send_picture(s);
}

static void draw(struct watch *s)
{
        const struct cay_computer_args *a = s->m.call->args;

        s->m.on_news = NULL;
        s->m.rfb.follows = false;
        s->picture = cay_picture_of(s->m.rfb.width, s->m.rfb.height,
                                    a->scale ? (unsigned)a->scale : CAY_PICTURE_SCALE_ONE);
        /* What the server sends from now on is not read: the picture is of one moment. */
        cay_desktop_use_end(&s->m.use);
        s->row = malloc((size_t)s->picture.width * 3);
        s->png = cay_png_new(s->picture.width, s->picture.height, &s->bytes);
        if (!s->row || !s->png || cay_timer_set(s->m.use.world->loop, &s->next, 0, on_next) < 0)
                fail_picture(s);
}

/* Stillness */

static void end_wait(struct watch *s, bool is_still)
{
        struct cay_op_call *c;
        struct cay_op_result o;
        uint64_t updates = s->m.rfb.updates, waited_ms = cay_clock_ms() - s->since_ms;

        if (s->m.is_over)
                return;
        cay_timer_clear(&s->still);
        cay_timer_clear(&s->late);
        if (s->is_screenshot) {
                if (s->m.rfb.has_screen)
                        draw(s);
                else
                        s->is_late = true;
                return;
        }
        c = cay_computer_finish(&s->m);
        if (!c)
                return;
        cay_op_result_begin(&o, c);
        cay_op_key_bool(&o.j, "still", is_still);
        cay_op_key_u64(&o.j, "waited_ms", waited_ms);
        cay_op_key_u64(&o.j, "changes",
                       updates > 0 ? updates - 1 : 0); /* the first one is the whole screen */
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

static void on_still(struct cay_timer *t)
{
        end_wait(cay_container_of(t, struct watch, still), true);
}

static void on_late(struct cay_timer *t)
{
        end_wait(cay_container_of(t, struct watch, late), false);
}

static void on_news(struct cay_computer *m)
{
        const struct cay_computer_args *a = m->call ? m->call->args : NULL;
        struct watch *s = of(m);
        uint64_t still_ms = a ? a->still : 0;

        if (!a || !m->rfb.has_screen || m->rfb.updates == s->seen)
                return;
        if (s->is_screenshot && (still_ms == 0 || s->is_late)) {
                draw(s);
                return;
        }
        s->seen = m->rfb.updates;
        m->rfb.follows = true;
        if (s->seen == 1)
                cay_rfb_ask(&m->rfb, true); /* the first update was not followed yet */
        cay_computer_send(m);
        cay_timer_set(m->use.world->loop, &s->still, still_ms ? still_ms : STILL_DEFAULT_MS, on_still);
}

static void on_ready(struct cay_computer *m)
{
        const struct cay_computer_args *a = m->call->args;
        struct watch *s = of(m);
        uint64_t timeout = a->timeout ? a->timeout : TIMEOUT_DEFAULT_MS;

        s->since_ms = cay_clock_ms();
        if (!s->is_screenshot || a->still > 0)
                cay_timer_set(m->use.world->loop, &s->late, timeout, on_late);
}

static void begin(struct cay_op_call *c, bool is_screenshot)
{
        const struct cay_computer_args *a = c->args;
        struct watch *s = cay_computer_new(c, sizeof(*s));

        if (!s)
                return;
        s->is_screenshot = is_screenshot;
        s->m.rfb.wants_screen = true;
        s->m.on_ready = on_ready;
        s->m.on_news = on_news;
        s->m.done = free_watch;
        cay_buf_init(&s->bytes, PNG_MAX);
        if (s->m.budget)
                cay_buf_charge(&s->bytes, &s->m.budget->budget);
        c->on_drain = on_drain;
        cay_computer_begin(&s->m, a->id);
}

static void run_screenshot(struct cay_op_call *c)
{
        begin(c, true);
}

static const struct cay_field screenshot_fields[] = {
        COMPUTER_ID,
        COMPUTER_SCALE,
        { "still", CAY_FIELD_DURATION, offsetof(struct cay_computer_args, still), 0,
          "waits until nothing has changed for so long; default: does not wait", .max = 5000 },
        { "timeout", CAY_FIELD_DURATION, offsetof(struct cay_computer_args, timeout), 0,
          "with still: takes the picture at the latest after this time; default 10 seconds", .max = 60000 },
        {},
};

const struct cay_op cay_op_computer_screenshot = {
        .name = "computer_screenshot",
        .route = "POST /api/sandboxes/{id}/computer/screenshot",
        .doc = "Returns a picture of a sandbox's desktop, with the pointer, as PNG",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_STREAM | CAY_OP_BYTES,
        .fields = screenshot_fields,
        .args_size = sizeof(struct cay_computer_args),
        .bytes = "image/png",
        .tool = CAY_TOOL(
                "Screenshot",
                "A picture of the desktop with the pointer; starts the desktop if none runs. Points of "
                "other calls are its pixels.",
                .flags = CAY_TOOL_READS, .group = "computer"),
        .verb = CAY_OP_VERB(
                "computer screenshot", "id",
                "Writes a picture of a sandbox's desktop, with the pointer, to standard output, as PNG."),
        .run = run_screenshot,
};

static void run_wait(struct cay_op_call *c)
{
        begin(c, false);
}

static const struct cay_field wait_fields[] = {
        COMPUTER_ID,
        { "still", CAY_FIELD_DURATION, offsetof(struct cay_computer_args, still), 0,
          "nothing has changed for so long; default 0.5 seconds", .min = 20, .max = 30000 },
        { "timeout", CAY_FIELD_DURATION, offsetof(struct cay_computer_args, timeout), 0,
          "the most that it waits; default 10 seconds", .min = 1, .max = 60000 },
        {},
};

RESULT(result_wait, NULL, BOOL("still"), NUMBER("waited_ms"), NUMBER("changes"));

const struct cay_op cay_op_computer_wait = {
        .name = "computer_wait",
        .route = "POST /api/sandboxes/{id}/computer/wait",
        .doc = "Waits until nothing changes on a sandbox's desktop",
        .scope = CAY_SCOPE_EXEC,
        .fields = wait_fields,
        .args_size = sizeof(struct cay_computer_args),
        .result = &result_wait,
        .tool = CAY_TOOL("Wait", "Waits until the screen is still.", .flags = CAY_TOOL_READS,
                         .group = "computer"),
        .verb = CAY_OP_VERB("computer wait", "id", NULL, "still=still waited=waited_ms changes=changes"),
        .run = run_wait,
};
