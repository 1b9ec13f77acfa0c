/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A terminal over a WebSocket: reads the client's messages, and ends it. tty.h has the rules, tty_priv.h the
 * parts.
 */
#include <stdlib.h>
#include <string.h>

#include "foundation/base/log.h"
#include "daemon/gate/gate.h"
#include "dialects/page/tty_priv.h"

#define SIZING_MS 500u

static struct cay_tty *of_ws(struct cay_ws *ws)
{
        return cay_container_of(ws, struct cay_tty, ws);
}

static void release_tty(struct cay_deferred *d)
{
        free(cay_container_of(d, struct cay_tty, release));
}

void cay_tty_let_go_if_done(struct cay_tty *t)
{
        if (!t->closed || t->ask || t->follows)
                return;
        cay_timer_clear(&t->patience);
        cay_timer_clear(&t->room);
        cay_timer_clear(&t->sizing);
        cay_guard_end(&t->guard);
        cay_rest_stream_remove(&t->stream);
        t->release.run = release_tty;
        cay_loop_defer(t->call.world->loop, &t->release);
}

/* Following */

static void resize(struct cay_tty *t);

static void on_sizing(struct cay_timer *timer)
{
        struct cay_tty *t = cay_container_of(timer, struct cay_tty, sizing);

        if (t->follows)
                resize(t);
}

/*
 * A paused command, or one whose box does not answer yet, gets its size when it continues; one that has ended
 * is about to be closed.
 */
static void resize(struct cay_tty *t)
{
        const struct cay_op_order order = { .rows = t->size.rows, .cols = t->size.cols };
        struct cay_error err = { 0 };

        cay_timer_clear(&t->sizing);
        if (!t->call.on_order || t->call.on_order(&t->call, &order, &err) == 0)
                return;
        cay_log_debug("a terminal was not sized", "exec=%s error=%s", t->exec, err.msg);
        if (err.code == CAY_CONFLICT || err.code == CAY_UNAVAILABLE)
                cay_timer_set(t->call.world->loop, &t->sizing, SIZING_MS, on_sizing);
}

void cay_tty_follow(struct cay_tty *t)
{
        const struct cay_op_exec_follow how = { .from = t->from, .raw = true };

        cay_tty_say(t, '1', t->sandbox, strlen(t->sandbox));
        cay_tty_say(t, '2', "{}", 2);
        t->follows = true;
        cay_op_exec_stream(&t->call, t->sandbox, t->exec, &how);
        if (!t->follows)
                return;
        if (!t->is_ours)
                resize(t);
        cay_ws_resume(&t->ws); /* the size set meanwhile */
}

/* Messages from the client */

/* A client that was not authenticated by its request must be by its first message. */
static bool is_let_in(struct cay_tty *t, struct cay_tty_first *first)
{
        struct cay_error err = { 0 };

        if (t->is_known)
                return true;
        t->is_known = cay_gate_admit(&t->guard.pass, first->token, strlen(first->token), &t->call.caller);
        explicit_bzero(first->token, sizeof(first->token));
        cay_guard_end(&t->guard); /* an unknown client's pass is not watched; this one can be revoked */
        cay_guard_begin(&t->guard, cay_tty_let_go);
        if (!t->is_known)
                cay_ws_close(&t->ws, CAY_WS_REFUSED,
                             "a valid token is needed: AuthToken of the first message, or Authorization");
        else if (cay_tty_find(t, &err) < 0)
                cay_ws_close(&t->ws, CAY_WS_REFUSED, err.msg);
        else
                return true;
        return false;
}

static void take_first(struct cay_tty *t, const void *bytes, size_t len)
{
        struct cay_tty_first first;
        bool is_one = cay_tty_read_first(bytes, len, &first);

        cay_timer_clear(&t->patience);
        t->told = true;
        t->size = first.size;
        if (!is_one)
                cay_ws_close(&t->ws, CAY_WS_REFUSED, "the first message is {\"columns\": N, \"rows\": N}");
        else if (!is_let_in(t, &first))
                return;
        else if (t->exec[0])
                cay_tty_follow(t);
        else
                cay_tty_start_shell(t);
}

/* How many of the bytes were taken. */
static size_t give_input(struct cay_tty *t, const void *bytes, size_t len)
{
        size_t n = len > 0 && t->call.on_body ? t->call.on_body(&t->call, bytes, len) : len;

        t->in_input = n < len;
        return n;
}

static size_t take_message(struct cay_tty *t, const void *bytes, size_t len)
{
        if (!t->told) {
                take_first(t, bytes, len);
                return len;
        }
        if (!t->follows)
                return t->ask ? 0 : len;
        if (t->in_input)
                return give_input(t, bytes, len);
        switch (cay_tty_read(bytes, len, &t->size)) {
        case CAY_TTY_INPUT:
                return 1 + give_input(t, (const char *)bytes + 1, len - 1);
        case CAY_TTY_SIZE:
                resize(t);
                break;
        case CAY_TTY_PAUSE:
                t->paused = true;
                break;
        case CAY_TTY_RESUME:
                t->paused = false;
                if (t->call.on_drain)
                        t->call.on_drain(&t->call);
                break;
        case CAY_TTY_NONSENSE:
        case CAY_TTY_WORD_COUNT:
                break;
        }
        return len;
}

static void on_room(struct cay_timer *timer)
{
        cay_ws_resume(&cay_container_of(timer, struct cay_tty, room)->ws);
}

/*
 * Each message is charged like a request. The protocol cannot say "too many", and keys must not be lost, so
 * messages wait.
 */
static bool pay(struct cay_tty *t)
{
        struct cay_error err = { 0 };
        uint64_t wait_ms = 0;

        if (!t->is_paid)
                t->is_paid = cay_pass_pay(&t->guard.pass, &wait_ms, &err) == 0;
        if (!t->is_paid)
                cay_timer_set(t->call.world->loop, &t->room, wait_ms, on_room);
        return t->is_paid;
}

static size_t on_message(struct cay_ws *ws, enum cay_ws_opcode kind, const void *bytes, size_t len)
{
        struct cay_tty *t = of_ws(ws);
        size_t taken;

        (void)kind; /* ttyd's clients send either */
        if (!cay_guard_look(&t->guard))
                return len;
        if (!pay(t))
                return 0;
        taken = take_message(t, bytes, len);
        if (taken == len)
                t->is_paid = false; /* the next one is another message */
        return taken;
}

/*
 * The client's access has ended. The command is not affected: this terminal's own shell continues as a
 * command of its sandbox.
 */
void cay_tty_let_go(struct cay_guard *g, const char *why)
{
        struct cay_tty *t = cay_container_of(g, struct cay_tty, guard);

        t->is_ours = false;
        cay_timer_clear(&t->room);
        cay_ws_close(&t->ws, CAY_WS_REFUSED, why);
        if (t->follows)
                t->call.on_gone(&t->call);
}

static void on_drain(struct cay_ws *ws)
{
        struct cay_tty *t = of_ws(ws);

        if (t->follows && !t->paused && t->call.on_drain)
                t->call.on_drain(&t->call);
}

static void on_closed(struct cay_ws *ws, unsigned code, const char *reason)
{
        struct cay_tty *t = of_ws(ws);

        (void)code;
        (void)reason;
        t->closed = true;
        cay_timer_clear(&t->room);
        if (t->follows) {
                cay_tty_end_shell(t);
                t->call.on_gone(&t->call); /* its last call is abort */
        } else {
                cay_tty_let_go_if_done(t);
        }
}

const struct cay_ws_ops cay_tty_ws_ops = {
        .on_message = on_message,
        .on_drain = on_drain,
        .on_closed = on_closed,
};
