/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Browsers that live once: in a sandbox with browser_seconds. Such a browser is closed when its time is over,
 * or (browser_follows) when its last client has left; it is not started again, and its sandbox is destroyed a
 * while after it. Both are options of the sandbox, so that a new front knows them too; its timers begin when
 * somebody asks for the browser, and the sandbox's own end comes in any case.
 */
#include <stdlib.h>
#include <string.h>

#include "domain/browser/browser_priv.h"
#include "foundation/base/clock.h"
#include "foundation/base/fair.h"
#include "foundation/base/log.h"
#include "foundation/base/str.h"

#define LEFT_MS 500u              /* a client that connects again within it is no other one */
#define FIRST_MS (5u * 60 * 1000) /* until the first client comes */

/* The end */

static void on_old(struct cay_timer *t)
{
        cay_browser_close(cay_container_of(t, struct cay_browser, age));
}

static void on_unused(struct cay_timer *t)
{
        cay_browser_close(cay_container_of(t, struct cay_browser, unused));
}

void cay_browser_life_clients(struct cay_browser *b)
{
        /* Our own does not count, and neither do people who look, nor a recording. */
        bool has_some = b->mux.client_count > 1u + cay_cdp_user_is_open(&b->live.user);

        if (!b->follows || cay_browser_is_over(b) || cay_browser_is_closing(b))
                return;
        if (has_some)
                cay_timer_clear(&b->unused);
        else if (!b->had_clients || !b->unused.loop)
                cay_timer_set(b->all->env.loop, &b->unused, b->had_clients ? LEFT_MS : FIRST_MS, on_unused);
        b->had_clients |= has_some;
}

void cay_browser_life_begin(struct cay_browser *b, const struct cay_sandbox_view *view,
                            uint64_t begun_wall_ms)
{
        uint64_t now = cay_clock_wall_ms(), most = view->options.browser_seconds * 1000, gone;

        if (most == 0)
                return;
        gone = now > begun_wall_ms ? now - begun_wall_ms : 0;
        b->lives_once = true;
        b->follows = view->options.browser_follows;
        cay_timer_set(b->all->env.loop, &b->age, gone < most ? most - gone : 0, on_old);
        cay_browser_life_clients(b);
}

/* What was kept of it */

static void free_past(struct cay_browser_past *p)
{
        cay_timer_clear(&p->until);
        cay_downloads_done(&p->downloads);
        cay_browser_logs_done(&p->logs);
        cay_budget_owner_put(p->payer);
        free(p);
}

static void drop_past(struct cay_browsers *bs, struct cay_browser_past *p)
{
        struct cay_browser_past **at = &bs->past;

        while (*at != p)
                at = &(*at)->next;
        *at = p->next;
        bs->past_count--;
        free_past(p);
}

static void on_past(struct cay_timer *t)
{
        struct cay_browser_past *p = cay_container_of(t, struct cay_browser_past, until);

        drop_past(p->all, p);
}

static struct cay_browser_past *find_past(struct cay_browsers *bs, const char *sandbox)
{
        struct cay_browser_past *p = bs->past;

        while (p && strcmp(p->sandbox, sandbox) != 0)
                p = p->next;
        return p;
}

/* An owner's own oldest one goes for a new one, never another owner's. False: there is no room. */
static bool make_room(struct cay_browsers *bs, const char *owner)
{
        struct cay_browser_past *oldest = NULL;
        unsigned own = 0;

        for (struct cay_browser_past *p = bs->past; p; p = p->next) {
                if (strcmp(p->owner, owner) != 0)
                        continue;
                own++;
                oldest = p;
        }
        if (cay_fair_has_room(CAY_BROWSER_PAST_MAX, CAY_BROWSER_PAST_MAX, bs->past_count, own))
                return true;
        if (oldest)
                drop_past(bs, oldest);
        return oldest != NULL;
}

/* Its downloads and logs, without headers and bodies, which nobody can ask for any more. */
static void keep(struct cay_browser *b)
{
        struct cay_browsers *bs = b->all;
        struct cay_browser_past *p = find_past(bs, b->sandbox);

        if (p)
                drop_past(bs, p);
        p = make_room(bs, b->owner) ? calloc(1, sizeof(*p)) : NULL;
        if (!p)
                return;
        p->all = bs;
        cay_str_copy(p->sandbox, sizeof(p->sandbox), b->sandbox);
        cay_str_copy(p->owner, sizeof(p->owner), b->owner);
        p->payer = bs->env.budgets ? cay_budget_owner_get(bs->env.budgets, b->owner) : NULL;
        p->downloads = b->downloads;
        p->logs = b->driver.logs;
        b->downloads = (struct cay_downloads){ 0 };
        b->driver.logs = (struct cay_browser_logs){ 0 };
        if (p->logs.budget && !p->payer) /* its budget goes with the browser */
                cay_browser_logs_done(&p->logs);
        else
                cay_browser_logs_shrink(&p->logs);
        p->next = bs->past;
        bs->past = p;
        bs->past_count++;
        cay_timer_set(bs->env.loop, &p->until, CAY_BROWSER_KEPT_MS, on_past);
}

void cay_browser_past_free(struct cay_browsers *bs)
{
        while (bs->past)
                drop_past(bs, bs->past);
}

/* The sandbox's end */

static void on_shortened(struct cay_job *job)
{
        struct cay_service_call *call = cay_container_of(job, struct cay_service_call, job);

        if (job->err.code != CAY_OK && job->err.code != CAY_NOT_FOUND)
                cay_log_warn("the end of a browser's sandbox was not set", "sandbox=%s error=%s", call->id,
                             job->err.msg);
        free(call);
}

void cay_browser_life_over(struct cay_browser *b)
{
        const struct cay_service_life life = { .set_timeout = true, .timeout_ms = CAY_BROWSER_KEPT_MS };
        struct cay_viewer viewer = cay_browser_viewer(b);
        struct cay_service_call *call;

        cay_timer_clear(&b->age);
        cay_timer_clear(&b->unused);
        keep(b);
        if (!b->lives_once)
                return;
        call = calloc(1, sizeof(*call));
        if (!call)
                return; /* its own end comes later */
        cay_job_init(&call->job, on_shortened);
        cay_service_extend(b->all->env.service, &viewer, b->sandbox, &life, call);
}

/* Questions */

struct search {
        struct cay_browser_state *state;
};

static void look_exec(void *ctx, const struct cay_exec_view *view)
{
        struct cay_browser_state *s = ((struct search *)ctx)->state;

        if (!cay_browser_is_exec(view))
                return;
        s->is_known = true;
        s->runs = view->state != CAY_EXEC_ENDED;
        s->has_failed = !s->runs && !(view->cause == CAY_CAUSE_EXITED && view->exit_code == 0) &&
                        view->cause != CAY_CAUSE_SANDBOX_GONE && view->cause != CAY_CAUSE_KILLED;
        s->started_wall_ms = view->started_wall_ms;
        s->ended_wall_ms = view->ended_wall_ms;
        cay_str_copy(s->exec, sizeof(s->exec), view->id);
        cay_str_copy(s->cause, sizeof(s->cause), s->runs ? "" : view->cause_text);
}

int cay_browser_state(struct cay_browsers *bs, const struct cay_viewer *v,
                      const struct cay_sandbox_view *view, struct cay_browser_state *ret,
                      struct cay_error *err)
{
        struct search search = { .state = ret };

        *ret = (struct cay_browser_state){ 0 };
        if (cay_service_exec_list(bs->env.service, v, view->id, look_exec, &search, err) < 0)
                return -1;
        for (const struct cay_browser *b = bs->list; b; b = b->next) {
                if (strcmp(b->sandbox, view->id) != 0)
                        continue;
                ret->is_known = ret->runs = true;
                ret->is_ready = cay_browser_is_ready(b);
                ret->clients = b->mux.client_count > 0 ? b->mux.client_count - 1 : 0;
        }
        ret->is_ready |= ret->runs && !ret->is_ready && ret->exec[0] != '\0';
        /* Whoever closes one at the end of its time is told nothing else by its command. */
        ret->is_timed_out = ret->is_known && !ret->runs && view->options.browser_seconds > 0 &&
                            ret->ended_wall_ms >= ret->started_wall_ms + view->options.browser_seconds * 1000;
        return 0;
}

int cay_browser_kept(struct cay_browsers *bs, const struct cay_viewer *v, const char *sandbox,
                     struct cay_browser_kept *ret, struct cay_error *err)
{
        struct cay_browser *b = cay_browser_find(bs, v, sandbox, err);
        struct cay_sandbox_view view;
        struct cay_error none = { 0 };
        struct cay_browser_past *p;

        if (b) {
                *ret = (struct cay_browser_kept){ b->sandbox, &b->downloads, &b->driver.logs };
                return 0;
        }
        if (err->code != CAY_NOT_FOUND || cay_service_get(bs->env.service, v, sandbox, &view, &none) < 0)
                return -1;
        p = find_past(bs, view.id);
        if (!p)
                return -1;
        *err = none;
        *ret = (struct cay_browser_kept){ p->sandbox, &p->downloads, &p->logs };
        return 0;
}
