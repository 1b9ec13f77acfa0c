/* SPDX-License-Identifier: Apache-2.0 */
/* Passes: authorises, charges and watches open connections. */
#include "daemon/gate/gate_pass.h"

#include <inttypes.h>

#include "foundation/base/clock.h"
#include "foundation/base/log.h"
#include "foundation/base/str.h"
#include "daemon/gate/gate_priv.h"

#define LOOK_MS 250u /* the longest that a silent stream outlives its key */

uint64_t cay_gate_now_ms(struct cay_gate *g)
{
        struct cay_clock_reading now;

        g->env.clock->read(g->env.clock, &now);
        return cay_token_clock_now_ms(&g->wall, now.wall_ms, cay_clock_ms());
}

static uint64_t changes(const struct cay_gate *g)
{
        return (g->env.keys ? cay_api_keys_revoked(g->env.keys) : 0) +
               (g->env.logins ? g->env.logins->ended_count : 0);
}

void cay_gate_fill_pass(struct cay_gate *g, struct cay_pass *p, enum cay_pass_kind kind,
                        const struct cay_token *token)
{
        *p = (struct cay_pass){ .gate = g, .kind = kind, .seen = changes(g), .expires_s = token->expires_s };
        cay_str_copy(p->id, sizeof(p->id), token->caller.id);
}

/* Judging */

static bool was_revoked(struct cay_pass *p)
{
        const struct cay_gate_env *env = &p->gate->env;
        struct cay_token session = { .expires_s = p->expires_s };

        if (p->kind == CAY_PASS_KEY)
                return !cay_api_keys_is_good(env->keys, p->id);
        if (p->kind != CAY_PASS_SESSION)
                return false;
        cay_str_copy(session.caller.id, sizeof(session.caller.id), p->id);
        return cay_session_is_over(env->logins, &session);
}

const char *cay_pass_over(struct cay_pass *p)
{
        uint64_t now;

        if (!p->gate || p->kind == CAY_PASS_FREE)
                return NULL;
        if (p->expires_s > 0 && cay_gate_now_ms(p->gate) / 1000 >= p->expires_s)
                return p->kind == CAY_PASS_SESSION ? "this session is over: sign in again"
                                                   : "this token's lifetime is over: come back with another";
        now = changes(p->gate);
        if (p->seen == now)
                return NULL;
        if (was_revoked(p))
                return p->kind == CAY_PASS_KEY ? "this key was revoked" : "this session was ended";
        p->seen = now;
        return NULL;
}

int cay_pass_pay(struct cay_pass *p, uint64_t *ret_wait_ms, struct cay_error *err)
{
        struct cay_rate *rate;

        *ret_wait_ms = 0;
        if (!p->gate || !p->payer[0])
                return 0;
        rate = p->is_anonymous ? p->gate->anonymous : p->gate->rate;
        if (cay_rate_take(rate, p->payer, cay_clock_ms(), ret_wait_ms))
                return 0;
        return cay_fail_because(err, CAY_LIMIT, CAY_REASON_RETRY,
                                "more than %" PRIu64
                                " requests in a minute (rate_limit): try again in %" PRIu64 " ms",
                                p->gate->env.config->rate_limit, *ret_wait_ms);
}

/* Guards */

void cay_guard_end(struct cay_guard *g)
{
        if (!g->back)
                return;
        *g->back = g->next;
        if (g->next)
                g->next->back = g->back;
        g->back = NULL;
}

bool cay_guard_look(struct cay_guard *g)
{
        const char *why = cay_pass_over(&g->pass);

        if (!why)
                return true;
        cay_log_debug("let go", "id=%s why=%s", g->pass.id, why);
        cay_guard_end(g);
        g->on_over(g, why);
        return false;
}

/* Closing one may close others: then the loop starts again. */
static void on_look(struct cay_timer *t)
{
        struct cay_gate *gate = cay_container_of(t, struct cay_gate, look);
        struct cay_guard *g = gate->guards;

        while (g)
                g = cay_guard_look(g) ? g->next : gate->guards;
        if (gate->guards)
                cay_timer_set(gate->env.loop, t, LOOK_MS, on_look);
}

void cay_guard_begin(struct cay_guard *g, void (*on_over)(struct cay_guard *g, const char *why))
{
        struct cay_gate *gate = g->pass.gate;

        g->on_over = on_over;
        if (!gate || g->pass.kind == CAY_PASS_FREE || g->back)
                return;
        g->next = gate->guards;
        g->back = &gate->guards;
        if (g->next)
                g->next->back = &g->next;
        gate->guards = g;
        if (gate->env.loop && !gate->look.loop)
                cay_timer_set(gate->env.loop, &gate->look, LOOK_MS, on_look);
}
