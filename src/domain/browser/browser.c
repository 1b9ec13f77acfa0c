/* SPDX-License-Identifier: Apache-2.0 */
/* Browsers of sandboxes: finding, starting and stopping them; the rules are in browser.h. */
#include "domain/browser/browser.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "domain/browser/browser_priv.h"
#include "domain/browser/screencast.h"
#include "foundation/base/clock.h"
#include "foundation/base/log.h"
#include "foundation/base/str.h"

#define CANCEL_MS 10000u
#define TITLES_MS 2000u

static const struct cay_phase_row phases[CAY_BROWSER_PHASE_COUNT] = {
        [CAY_BROWSER_STARTING] = { "starting", CAY_PHASE_BIT(CAY_BROWSER_READY) |
                                                       CAY_PHASE_BIT(CAY_BROWSER_WITHDRAWN) |
                                                       CAY_PHASE_BIT(CAY_BROWSER_OVER) },
        [CAY_BROWSER_READY] = { "ready",
                                CAY_PHASE_BIT(CAY_BROWSER_CLOSING) | CAY_PHASE_BIT(CAY_BROWSER_OVER) },
        [CAY_BROWSER_CLOSING] = { "closing", CAY_PHASE_BIT(CAY_BROWSER_OVER) },
        [CAY_BROWSER_WITHDRAWN] = { "withdrawn", CAY_PHASE_BIT(CAY_BROWSER_OVER) },
        [CAY_BROWSER_OVER] = { "over", CAY_PHASE_BIT(CAY_BROWSER_RELEASED) },
        [CAY_BROWSER_RELEASED] = { "released", 0 },
};

const struct cay_phase_table cay_browser_phases = { "browser", phases, CAY_BROWSER_PHASE_COUNT };

void cay_browser_move(struct cay_browser *b, enum cay_browser_phase to)
{
        b->phase = (enum cay_browser_phase)cay_phase_move(&cay_browser_phases, b->phase, to, b->sandbox);
}

bool cay_browser_is_ready(const struct cay_browser *b)
{
        return b->phase == CAY_BROWSER_READY || b->phase == CAY_BROWSER_CLOSING;
}

bool cay_browser_is_closing(const struct cay_browser *b)
{
        return b->phase == CAY_BROWSER_CLOSING || b->phase == CAY_BROWSER_WITHDRAWN;
}

bool cay_browser_is_over(const struct cay_browser *b)
{
        return b->phase >= CAY_BROWSER_OVER;
}

struct cay_viewer cay_browser_viewer(const struct cay_browser *b)
{
        return (struct cay_viewer){ .owner = b->owner, .sees_all = true };
}

struct cay_browsers *cay_browsers_new(const struct cay_browsers_env *env)
{
        struct cay_browsers *bs = calloc(1, sizeof(*bs));

        if (!bs)
                return NULL;
        bs->env = *env;
        bs->recordings = cay_screencasts_new(env, bs);
        if (!bs->recordings) {
                free(bs);
                return NULL;
        }
        return bs;
}

bool cay_browser_is_exec(const struct cay_exec_view *view)
{
        return strcmp(view->language, CAY_BROWSER_LANGUAGE) == 0 &&
               cay_exec_kind_of(view->context) == CAY_EXEC_BROWSER;
}

/* Ends */

static void free_browser(struct cay_browser *b)
{
        cay_cdp_mux_done(&b->mux);
        cay_driver_done(&b->driver);
        cay_live_done(b);
        cay_downloads_done(&b->downloads);
        cay_tabs_done(&b->tabs);
        cay_budget_owner_put(b->payer);
        free(b->piece);
        free(b);
}

static void release_browser(struct cay_deferred *d)
{
        struct cay_browser *b = cay_container_of(d, struct cay_browser, release);

        cay_browser_move(b, CAY_BROWSER_RELEASED);
        cay_browser_free_if_done(b);
}

void cay_browser_free_if_done(struct cay_browser *b)
{
        if (b->phase == CAY_BROWSER_RELEASED && !cay_browser_is_held(b))
                free_browser(b);
}

static void unlink_browser(struct cay_browser *b)
{
        struct cay_browser **at = &b->all->list;

        while (*at != b)
                at = &(*at)->next;
        *at = b->next;
}

static void finish_calls(struct cay_browser *b, struct cay_browser_call **list, const struct cay_error *err)
{
        while (*list) {
                struct cay_browser_call *call = *list;

                *list = call->next;
                cay_job_finish(cay_loop_jobs(b->all->env.loop), &call->job, err);
        }
}

static void end_browser(struct cay_browser *b, const struct cay_error *why)
{
        cay_browser_move(b, CAY_BROWSER_OVER);
        cay_timer_clear(&b->patience);
        cay_timer_clear(&b->age);
        cay_timer_clear(&b->unused);
        cay_actions_end(b, why);
        cay_cdp_user_close(&b->own);
        cay_browser_end_io(b);
        cay_cdp_mux_end(&b->mux, why);
        finish_calls(b, &b->starting, why);
        finish_calls(b, &b->stopping, NULL);
        finish_calls(b, &b->looking, NULL);
}

void cay_browser_over(struct cay_browser *b, const struct cay_error *why)
{
        if (cay_browser_is_over(b))
                return;
        cay_log_debug("a browser is gone", "sandbox=%s reason=%s", b->sandbox, why->msg);
        unlink_browser(b);
        end_browser(b, why);
        cay_browser_life_over(b);
        b->release.run = release_browser;
        cay_loop_defer(b->all->env.loop, &b->release);
}

void cay_browsers_free(struct cay_browsers *bs)
{
        const struct cay_error why = { .code = CAY_UNAVAILABLE, .msg = "the daemon stops" };

        if (!bs)
                return;
        cay_screencasts_free(bs->recordings);
        while (bs->list) {
                struct cay_browser *b = bs->list;

                bs->list = b->next;
                end_browser(b, &why);
                cay_browser_move(b, CAY_BROWSER_RELEASED);
                cay_browser_free_if_done(b); /* or when the service ends its jobs */
        }
        cay_browser_past_free(bs);
        free(bs);
}

/* Start */

static void look_ready(struct cay_browser *b)
{
        if (b->phase != CAY_BROWSER_STARTING || !b->has_version || b->tabs.count == 0)
                return;
        cay_browser_move(b, CAY_BROWSER_READY);
        cay_timer_clear(&b->patience);
        finish_calls(b, &b->starting, NULL);
        cay_browser_note_use(b);
        if (b->wants_logs)
                cay_driver_begin(&b->driver, &b->own);
        cay_actions_wake(b);
}

static void on_driver(struct cay_driver *d)
{
        cay_actions_wake(cay_container_of(d, struct cay_browser, driver));
}

/*
 * A new browser is asked for these together, and before a client of ours is attached to it: so it is ready
 * with its first answers, a round trip earlier.
 */
enum { ASK_VERSION = 1, ASK_TABS };

static void on_told(struct cay_cdp_mux *m, int32_t question, const struct cay_cdp_message *in)
{
        struct cay_browser *b = cay_container_of(m, struct cay_browser, mux);

        if (in->result.len == 0)
                return; /* its time, or its end, is told elsewhere */
        if (question == ASK_TABS) {
                cay_tabs_hear_all(&b->tabs, in->result);
        } else {
                cay_cdp_find_text(in->result, "product", b->product, sizeof(b->product));
                cay_cdp_find_text(in->result, "userAgent", b->user_agent, sizeof(b->user_agent));
                b->has_version = true;
        }
        look_ready(b);
}

static void on_ignored(struct cay_cdp_call *call)
{
        (void)call;
}

static void on_own_event(struct cay_cdp_user *u, const struct cay_cdp_message *event)
{
        struct cay_browser *b = cay_container_of(u, struct cay_browser, own);

        cay_tabs_hear(&b->tabs, event);
        look_ready(b);
        cay_live_hear_tabs(b, event);
        cay_driver_hear(&b->driver, u, event);
        cay_actions_hear(b);
}

static void on_mux_event(struct cay_cdp_mux *m, const struct cay_cdp_message *in)
{
        struct cay_browser *b = cay_container_of(m, struct cay_browser, mux);

        const struct cay_download *large = cay_downloads_hear(&b->downloads, in, cay_clock_wall_ms());
        char params[80];

        if (!large || b->cancel.user)
                return;
        snprintf(params, sizeof(params), "{\"guid\":\"%s\"}", large->guid);
        b->cancel.on_done = on_ignored;
        cay_cdp_call(&b->own, &b->cancel, "", "Browser.cancelDownload", params, CANCEL_MS);
}

/* Again when a client has left: Chromium then forgets what it was told of downloads by anybody. */
static void set_downloads(struct cay_browser *b)
{
        if (cay_browser_is_over(b) || cay_browser_is_closing(b) || !cay_cdp_user_is_open(&b->own))
                return;
        cay_cdp_call_cancel(&b->downloads_set);
        b->downloads_set.on_done = on_ignored;
        cay_cdp_call(&b->own, &b->downloads_set, "", "Browser.setDownloadBehavior",
                     "{\"behavior\":\"allowAndName\"}", CAY_BROWSER_START_MS);
}

static void on_mux_command(struct cay_cdp_mux *m, const struct cay_cdp_client *c,
                           const struct cay_cdp_message *in)
{
        cay_live_hear_command(cay_container_of(m, struct cay_browser, mux), c, in);
}

static bool is_taken(struct cay_cdp_mux *m, const struct cay_cdp_client *c)
{
        const struct cay_browser *b = cay_container_of(m, struct cay_browser, mux);

        return cay_live_is_taken(b) && c != &b->live.user.client;
}

static void on_clients(struct cay_cdp_mux *m)
{
        struct cay_browser *b = cay_container_of(m, struct cay_browser, mux);

        cay_browser_note_use(b);
        cay_browser_life_clients(b);
        if (m->client_count < b->last_clients)
                set_downloads(b);
        b->last_clients = m->client_count;
}

static void on_patience(struct cay_timer *t)
{
        struct cay_browser *b = cay_container_of(t, struct cay_browser, patience);
        struct cay_viewer viewer = cay_browser_viewer(b);
        struct cay_error err = { 0 };

        cay_fail(&err, CAY_TIMEOUT,
                 "the browser did not answer for %u seconds; give its sandbox more processors "
                 "or memory",
                 CAY_BROWSER_START_MS / 1000);
        if (b->exec[0] != '\0')
                cay_service_exec_abandon(b->all->env.service, &viewer, b->sandbox, b->exec);
        cay_browser_over(b, &err);
}

/*
 * Our own user: what every browser is asked first. Tabs of one that was there before may be gone before we
 * hear of ends.
 */
static int begin_own(struct cay_browser *b, bool is_new, struct cay_error *err)
{
        b->own.on_event = on_own_event;
        if (cay_cdp_mux_ask(&b->mux, ASK_VERSION, "Browser.getVersion", "{}") < 0 ||
            (is_new && cay_cdp_mux_ask(&b->mux, ASK_TABS, "Target.getTargets",
                                       "{\"filter\":[{\"type\":\"page\"}]}") < 0))
                return cay_fail(err, CAY_INTERNAL, "no memory for a browser");
        if (cay_cdp_user_open(&b->own, &b->mux, b->all->env.loop, err) < 0)
                return -1;
        b->discover.on_done = on_ignored;
        cay_cdp_call(&b->own, &b->discover, "", "Target.setDiscoverTargets",
                     "{\"discover\":true,\"filter\":[{\"type\":\"page\"}]}", CAY_BROWSER_START_MS);
        set_downloads(b);
        cay_timer_set(b->all->env.loop, &b->patience, CAY_BROWSER_START_MS, on_patience);
        return 0;
}

static struct cay_browser *make_browser(struct cay_browsers *bs, const struct cay_sandbox_view *view)
{
        struct cay_browser *b = calloc(1, sizeof(*b));

        if (!b)
                return NULL;
        b->all = bs;
        b->piece = malloc(CAY_BROWSER_PIECE);
        if (!b->piece || !cay_str_copy(b->sandbox, sizeof(b->sandbox), view->id) ||
            !cay_str_copy(b->owner, sizeof(b->owner), view->owner)) {
                free(b->piece);
                free(b);
                return NULL;
        }
        cay_cdp_mux_init(&b->mux);
        b->payer = bs->env.budgets ? cay_budget_owner_get(bs->env.budgets, view->owner) : NULL;
        if (b->payer)
                cay_cdp_mux_charge(&b->mux, &b->payer->budget);
        b->mux.on_event = on_mux_event;
        b->mux.on_clients = on_clients;
        b->mux.on_told = on_told;
        b->mux.on_command = on_mux_command;
        b->mux.is_taken = is_taken;
        cay_live_init(b);
        b->mux.downloads = CAY_BROWSER_DOWNLOADS;
        b->driver.on_on = on_driver;
        b->driver.logs.budget = b->payer ? &b->payer->kept : NULL;
        b->downloads.most = view->limits->disk_bytes;
        b->next = bs->list;
        bs->list = b;
        return b;
}

struct search {
        char exec[CAY_NAME_MAX + 1];
        uint64_t started_wall_ms;
        bool keeps_profile;
};

static void look_exec(void *ctx, const struct cay_exec_view *view)
{
        struct search *s = ctx;

        if (!cay_browser_is_exec(view) || view->state == CAY_EXEC_ENDED)
                return;
        cay_str_copy(s->exec, sizeof(s->exec), view->id);
        s->started_wall_ms = view->started_wall_ms;
        s->keeps_profile = cay_browser_launch_keeps(view->argv);
}

/*
 * The sandbox's browser, in memory or running since an earlier front. NULL with CAY_OK: there is none, and
 * view is filled. NULL with an error.
 */
static struct cay_browser *find_browser(struct cay_browsers *bs, const struct cay_viewer *v,
                                        const char *sandbox, struct cay_sandbox_view *view,
                                        struct cay_error *err)
{
        struct search search = { .exec = "" };
        struct cay_browser *b;

        if (cay_service_get(bs->env.service, v, sandbox, view, err) < 0)
                return NULL;
        for (b = bs->list; b; b = b->next)
                if (strcmp(b->sandbox, view->id) == 0)
                        return b;
        if (cay_service_exec_list(bs->env.service, v, view->id, look_exec, &search, err) < 0 ||
            search.exec[0] == '\0')
                return NULL;
        b = make_browser(bs, view);
        if (!b) {
                cay_fail(err, CAY_INTERNAL, "no memory for a browser");
                return NULL;
        }
        if (cay_browser_adopt_exec(b, search.exec, err) < 0 || begin_own(b, false, err) < 0) {
                cay_browser_over(b, err);
                return NULL;
        }
        b->keeps_profile = search.keeps_profile;
        cay_browser_life_begin(b, view, search.started_wall_ms);
        return b;
}

/* One that lives once, and did: it is not started again. */
static int check_again(struct cay_browsers *bs, const struct cay_viewer *v,
                       const struct cay_sandbox_view *view, struct cay_error *err)
{
        struct cay_browser_state state;

        if (view->options.browser_seconds == 0)
                return 0;
        if (cay_browser_state(bs, v, view, &state, err) < 0)
                return -1;
        if (!state.is_known)
                return 0;
        return cay_fail(err, CAY_NOT_FOUND, "the browser session of sandbox '%s' has ended%s; make a new one",
                        view->id, state.is_timed_out ? ": its time was over" : "");
}

struct cay_browser *cay_browser_find_or_start(struct cay_browsers *bs, const struct cay_viewer *v,
                                              const char *sandbox, const struct cay_browser_options *options,
                                              struct cay_error *err)
{
        static const struct cay_browser_options usual = { 0 };
        struct cay_sandbox_view view;
        struct cay_browser *b = find_browser(bs, v, sandbox, &view, err);

        if (b || err->code != CAY_OK)
                return b;
        if (check_again(bs, v, &view, err) < 0 || cay_browser_check_limits(&view, err) < 0)
                return NULL;
        b = make_browser(bs, &view);
        if (!b) {
                cay_fail(err, CAY_INTERNAL, "no memory for a browser");
                return NULL;
        }
        b->keeps_profile = options && options->profile && !options->copies_profile;
        b->wants_logs = options && options->logs;
        cay_browser_begin_exec(b, options ? options : &usual);
        cay_browser_life_begin(b, &view, cay_clock_wall_ms());
        if (begin_own(b, true, err) < 0) {
                cay_browser_over(b, err);
                return NULL;
        }
        return b;
}

void cay_browser_start(struct cay_browsers *bs, const struct cay_viewer *v, const char *sandbox,
                       const struct cay_browser_options *options, struct cay_browser_call *call)
{
        struct cay_error err = { 0 };
        struct cay_browser *b = cay_browser_find_or_start(bs, v, sandbox, options, &err);

        call->next = NULL;
        if (!b || cay_browser_is_ready(b)) {
                cay_job_finish(cay_loop_jobs(bs->env.loop), &call->job, b ? NULL : &err);
                return;
        }
        call->next = b->starting;
        b->starting = call;
}

static void on_titles(struct cay_cdp_call *titles)
{
        struct cay_browser *b = cay_container_of(titles, struct cay_browser, titles);

        if (titles->err.code == CAY_OK)
                cay_tabs_hear_all(&b->tabs, titles->result);
        finish_calls(b, &b->looking, NULL); /* without them: with those that are known */
}

void cay_browser_look(struct cay_browsers *bs, const struct cay_viewer *v, const char *sandbox,
                      struct cay_browser_call *call)
{
        struct cay_error err = { 0 };
        struct cay_browser *b = cay_browser_find(bs, v, sandbox, &err);

        call->next = NULL;
        if (!b || !cay_browser_is_ready(b) || !cay_cdp_user_is_open(&b->own)) {
                cay_job_finish(cay_loop_jobs(bs->env.loop), &call->job, b ? NULL : &err);
                return;
        }
        call->next = b->looking;
        b->looking = call;
        if (call->next)
                return; /* it is being asked */
        cay_cdp_call_cancel(&b->titles);
        b->titles.on_done = on_titles;
        cay_cdp_call(&b->own, &b->titles, "", "Target.getTargets", NULL, TITLES_MS);
}

static bool drop_call(struct cay_browser_call **list, const struct cay_browser_call *call)
{
        for (; *list; list = &(*list)->next) {
                if (*list == call) {
                        *list = call->next;
                        return true;
                }
        }
        return false;
}

void cay_browser_cancel(struct cay_browsers *bs, struct cay_browser_call *call)
{
        for (struct cay_browser *b = bs->list; b; b = b->next)
                if (drop_call(&b->starting, call) || drop_call(&b->stopping, call) ||
                    drop_call(&b->looking, call))
                        return;
}

struct cay_browser *cay_browser_find(struct cay_browsers *bs, const struct cay_viewer *v, const char *sandbox,
                                     struct cay_error *err)
{
        struct cay_sandbox_view view;
        struct cay_browser *b = find_browser(bs, v, sandbox, &view, err);

        if (!b && err->code == CAY_OK)
                cay_fail(err, CAY_NOT_FOUND, "sandbox '%s' has no browser that runs; start it", view.id);
        return b;
}

int cay_browser_get(struct cay_browsers *bs, const struct cay_viewer *v, const char *sandbox,
                    struct cay_browser_view *ret, struct cay_error *err)
{
        struct cay_browser *b = cay_browser_find(bs, v, sandbox, err);

        if (!b)
                return -1;
        *ret = (struct cay_browser_view){ .sandbox = b->sandbox,
                                          .exec = b->exec,
                                          .is_ready = cay_browser_is_ready(b),
                                          .product = b->product,
                                          .user_agent = b->user_agent,
                                          .clients = b->mux.client_count - 1 -
                                                     cay_cdp_user_is_open(&b->live.user),
                                          .viewers = b->live.persons,
                                          .downloads = &b->downloads,
                                          .tabs = &b->tabs };
        return 0;
}

int cay_browser_connect(struct cay_browsers *bs, const struct cay_viewer *v, const char *sandbox,
                        struct cay_cdp_client *c, struct cay_error *err)
{
        struct cay_browser *b = cay_browser_find_or_start(bs, v, sandbox, NULL, err);

        return b ? cay_cdp_client_open(&b->mux, c, err) : -1;
}

/* Stop */

void cay_browser_stop(struct cay_browsers *bs, const struct cay_viewer *v, const char *sandbox,
                      struct cay_browser_call *call)
{
        struct cay_error err = { 0 };
        struct cay_sandbox_view view;
        struct cay_browser *b = find_browser(bs, v, sandbox, &view, &err);

        call->next = NULL;
        if (!b) {
                cay_job_finish(cay_loop_jobs(bs->env.loop), &call->job, err.code == CAY_OK ? NULL : &err);
                return;
        }
        call->next = b->stopping;
        b->stopping = call;
        cay_browser_close(b);
}
