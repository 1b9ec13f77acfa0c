/* SPDX-License-Identifier: Apache-2.0 */
/* A connection to a desktop for one call, and input in steps. */
#include "domain/ops/computer.h"

#include <stdlib.h>
#include <string.h>

#include "domain/desktop/seats.h"
#include "foundation/base/clock.h"
#include "foundation/base/str.h"

#define OP_MS 120000u /* the most that a call may take; waiting and typing have lower limits of their own */

static struct cay_computer *of_use(struct cay_desktop_use *u)
{
        return cay_container_of(u, struct cay_computer, use);
}

static void release_computer(struct cay_deferred *d)
{
        struct cay_computer *m = cay_container_of(d, struct cay_computer, release);

        if (m->done)
                m->done(m);
        cay_rfb_done(&m->rfb);
        cay_budget_owner_put(m->budget);
        free(m->inputs);
        free(m);
}

struct cay_op_call *cay_computer_finish(struct cay_computer *m)
{
        struct cay_op_call *c = cay_take(m->call);

        if (m->is_over)
                return NULL;
        m->is_over = true;
        if (m->has_seat)
                cay_seat_leave(m->use.world->seats, m->use.sandbox, m);
        cay_desktop_use_end(&m->use);
        cay_timer_clear(&m->pause);
        cay_timer_clear(&m->deadline);
        m->release.run = release_computer;
        cay_loop_defer(m->use.world->loop, &m->release);
        return c;
}

static const char *blame(const struct cay_op_call *c, const struct cay_error *err)
{
        static const char *const fields[] = { "x", "y", "to_x", "to_y", "keys", "text", "button", "path" };

        for (unsigned i = 0; err->code == CAY_INVALID && i < CAY_COUNT(fields); i++) {
                size_t len = strlen(fields[i]);

                if (strncmp(err->msg, fields[i], len) == 0 && err->msg[len] == ':' &&
                    cay_field_find(c->op->fields, fields[i], len))
                        return fields[i];
        }
        return err->code == CAY_NOT_FOUND ? "id" : NULL;
}

void cay_computer_fail(struct cay_computer *m, const struct cay_error *err)
{
        struct cay_error copy = *err;
        struct cay_op_call *c = cay_computer_finish(m);

        if (c)
                cay_op_fail(c, &copy, blame(c, &copy));
}

void cay_computer_send(struct cay_computer *m)
{
        while (!m->is_over && m->rfb.out.len > 0) {
                size_t n = cay_service_channel_write(&m->use.ch, cay_buf_data(&m->rfb.out), m->rfb.out.len);

                if (n == 0)
                        return; /* on_room comes */
                cay_buf_drop(&m->rfb.out, n);
        }
}

static void on_room(struct cay_desktop_use *u)
{
        cay_computer_send(of_use(u));
}

/* The server has read everything: closing the connection loses nothing. */
static void end_play(struct cay_computer *m)
{
        m->awaits_sync = false;
        if (m->call)
                m->on_inputs(m);
        else
                cay_computer_finish(m);
}

static void on_data(struct cay_desktop_use *u, const void *bytes, size_t len)
{
        struct cay_computer *m = of_use(u);
        struct cay_error err = { 0 };

        if (cay_rfb_feed(&m->rfb, bytes, len, &err) < 0) {
                cay_computer_fail(m, &err);
                return;
        }
        cay_service_channel_ack(&u->ch, len);
        cay_computer_send(m);
        if (m->rfb.is_open && !m->is_ready) {
                m->is_ready = true;
                m->on_ready(m);
        }
        if (!m->is_over && m->awaits_sync && m->rfb.answers > 0)
                end_play(m);
        if (!m->is_over && m->is_ready && m->on_news)
                m->on_news(m);
}

static void on_fail(struct cay_desktop_use *u, const struct cay_error *err)
{
        struct cay_computer *m = of_use(u);

        if (m->on_lost && m->call)
                m->on_lost(m);
        else
                cay_computer_fail(m, err);
}

static void on_deadline(struct cay_timer *t)
{
        struct cay_computer *m = cay_container_of(t, struct cay_computer, deadline);
        struct cay_error err = { 0 };

        cay_fail(&err, CAY_TIMEOUT,
                 "the desktop did not answer within %u seconds; its programs may keep it too busy, or have "
                 "broken it",
                 OP_MS / 1000);
        cay_computer_fail(m, &err);
}

static void on_gone(struct cay_op_call *c)
{
        struct cay_computer *m = c->state;

        m->call = NULL;
        cay_op_abort(c);
        if (m->input_at == 0)
                cay_computer_finish(m); /* else the steps go on */
}

void *cay_computer_new(struct cay_op_call *c, size_t size)
{
        struct cay_computer *m = calloc(1, size);

        if (m && c->world->budgets)
                m->budget = cay_budget_owner_get(c->world->budgets, c->caller.owner);
        if (!m || (c->world->budgets && !m->budget)) {
                free(m);
                cay_op_fail_memory(c);
                return NULL;
        }
        m->call = c;
        c->state = m;
        cay_rfb_init(&m->rfb);
        m->rfb.budget = m->budget ? &m->budget->budget : NULL;
        cay_str_copy(m->owner, sizeof(m->owner), c->caller.owner);
        m->use.world = c->world;
        m->use.viewer = cay_op_viewer(c);
        m->use.viewer.owner = m->owner;
        m->use.waits_for_reason = true;
        m->use.on_data = on_data;
        m->use.on_room = on_room;
        m->use.on_fail = on_fail;
        return m;
}

void cay_computer_begin(struct cay_computer *m, const char *sandbox)
{
        struct cay_op_call *c = m->call;
        struct cay_error err = { 0 };

        c->on_gone = on_gone;
        if (cay_desktop_use_begin(&m->use, sandbox, &err) < 0)
                cay_computer_fail(m, &err);
        else
                cay_timer_set(m->use.world->loop, &m->deadline, OP_MS, on_deadline);
}

/* Input */

int cay_computer_add(struct cay_computer *m, const struct cay_input *input)
{
        if (m->input_count == m->input_room) {
                unsigned room = m->input_room ? m->input_room * 2 : 16;
                struct cay_input *more =
                        room <= CAY_INPUTS_MAX ? realloc(m->inputs, room * sizeof(*more)) : NULL;

                if (!more)
                        return -1;
                m->inputs = more;
                m->input_room = room;
        }
        m->inputs[m->input_count++] = *input;
        return 0;
}

int cay_computer_add_pointer(struct cay_computer *m, unsigned buttons, unsigned x, unsigned y,
                             unsigned pause_ms)
{
        const struct cay_input input = {
                .kind = CAY_INPUT_POINTER, .buttons = buttons, .x = x, .y = y, .pause_ms = pause_ms
        };

        return cay_computer_add(m, &input);
}

int cay_computer_add_key(struct cay_computer *m, uint32_t keysym, bool down, unsigned pause_ms)
{
        const struct cay_input input = {
                .kind = CAY_INPUT_KEY, .keysym = keysym, .down = down, .pause_ms = pause_ms
        };

        return cay_computer_add(m, &input);
}

static void on_pause(struct cay_timer *t)
{
        cay_computer_play(cay_container_of(t, struct cay_computer, pause));
}

static int say(struct cay_computer *m, const struct cay_input *in)
{
        if (in->kind == CAY_INPUT_KEY)
                return cay_rfb_key(&m->rfb, in->keysym, in->down);
        cay_seat_point(m->use.world->seats, m->use.sandbox, in->x, in->y, cay_clock_ms());
        return cay_rfb_pointer(&m->rfb, in->buttons, in->x, in->y);
}

void cay_computer_play(struct cay_computer *m)
{
        struct cay_error err = { 0 };

        m->has_seat = cay_seat_take(m->use.world->seats, m->use.sandbox, m, cay_clock_ms());
        if (!m->has_seat) {
                cay_fail(&err, CAY_CONFLICT,
                         "somebody else uses this desktop's pointer and keys at the moment; wait until they "
                         "pause for %u seconds",
                         CAY_SEAT_IDLE_MS / 1000);
                cay_computer_fail(m, &err);
                return;
        }
        while (m->input_at < m->input_count) {
                const struct cay_input *in = &m->inputs[m->input_at++];

                if (say(m, in) < 0) {
                        cay_fail(&err, CAY_UNAVAILABLE, "the desktop takes no more input");
                        cay_computer_fail(m, &err);
                        return;
                }
                if (in->pause_ms > 0) {
                        cay_computer_send(m);
                        cay_timer_set(m->use.world->loop, &m->pause, in->pause_ms, on_pause);
                        return;
                }
        }
        m->awaits_sync = cay_rfb_sync(&m->rfb) == 0;
        cay_computer_send(m);
}
