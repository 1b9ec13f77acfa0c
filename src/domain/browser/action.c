/* SPDX-License-Identifier: Apache-2.0 */
/* The engine of actions; the rules are in action.h. */
#include "domain/browser/action.h"

#include <stdlib.h>
#include <string.h>

#include "domain/browser/action_steps.h"
#include "domain/browser/browser_priv.h"
#include "domain/browser/cdp_policy.h"
#include "domain/browser/frames.h"
#include "foundation/base/clock.h"
#include "foundation/base/str.h"

#define AGAIN_MS 100u
#define SETTLE_MS 50u        /* in which a click has to begin to lead elsewhere */
#define SETTLE_MAX_MS 10000u /* of the page that it leads to */
#define LOOK_MS 3000u
#define FRAME_MS 5000u /* longer than a busy machine takes */

static void run(struct cay_action *a);
static bool hear_tab(struct cay_action *a);

const char *cay_action_type(const struct cay_action *a)
{
        return a->type ? a->type : a->row->type;
}

struct cay_target *cay_action_target(const struct cay_action *a)
{
        return a->tab[0] ? cay_driver_tab(&a->browser->driver, a->tab) : NULL;
}

/* Turns */

static bool changes(const struct cay_action *a)
{
        return a->row->flags & (CAY_ACTION_SETTLES | CAY_ACTION_REVIVES) &&
               !(a->row->flags & CAY_ACTION_DIALOG);
}

/* Who changes this tab now. */
static const struct cay_action *find_busy(const struct cay_browser *b, const char *tab)
{
        const struct cay_action *a = b->actions;

        while (a && (!changes(a) || strcmp(a->tab, tab) != 0 || a->phase <= CAY_ACTION_QUEUED))
                a = a->next;
        return a;
}

static void on_turn(struct cay_timer *timer);

/* The next one of this tab. */
static void pass_on(struct cay_browser *b, const char *tab)
{
        struct cay_action *first = NULL;

        if (cay_browser_is_over(b) || !tab[0] || find_busy(b, tab))
                return;
        for (struct cay_action *a = b->actions; a; a = a->next)
                if (a->phase == CAY_ACTION_QUEUED && strcmp(a->tab, tab) == 0 &&
                    (!first || a->turn_nr < first->turn_nr))
                        first = a;
        if (first)
                cay_timer_set(b->all->env.loop, &first->pause, 0, on_turn);
}

/* Ends */

static void release(struct cay_action *a)
{
        struct cay_browser *b = a->browser;

        cay_cdp_call_cancel(&a->call);
        cay_timer_clear(&a->deadline);
        cay_timer_clear(&a->pause);
        a->is_waiting = false;
        cay_frames_free(cay_take(a->frames));
        if (!a->is_linked)
                return;
        a->is_linked = false;
        for (struct cay_action **at = &b->actions; *at; at = &(*at)->next) {
                if (*at == a) {
                        *at = a->next;
                        break;
                }
        }
        if (changes(a))
                pass_on(b, a->tab);
        cay_browser_note_use(b);
}

static void finish(struct cay_action *a)
{
        struct cay_browser *b = a->browser;

        a->done_ms = cay_clock_ms();
        a->ready_ms = a->ready_ms ? a->ready_ms : a->done_ms;
        a->acted_ms = a->acted_ms ? a->acted_ms : a->done_ms;
        a->phase = CAY_ACTION_OVER;
        if (b && a->row->flags & CAY_ACTION_SETTLES && b->tabs.last_number > a->last_tab)
                a->opened = b->tabs.last_number;
        release(a);
        a->on_done(a);
}

void cay_action_cancel(struct cay_action *a)
{
        release(a);
        cay_buf_done(&a->kept);
}

static void fail(struct cay_action *a)
{
        cay_buf_done(&a->kept);
        finish(a);
}

/* After its steps: does it lead to another page, and what is in the tab then? */

static void on_looked(struct cay_cdp_call *call)
{
        struct cay_action *a = cay_container_of(call, struct cay_action, call);
        struct cay_json_view entries = cay_cdp_find(call->result, "entries"), key, entry, url;
        const struct cay_target *t = cay_action_target(a);
        struct cay_json_walk walk;
        uint64_t current = 0;

        if (t && t->dialog.type[0] != '\0')
                a->dialog = t->dialog; /* of another one's answer, too */
        if (call->err.code == CAY_OK &&
            cay_json_view_u64(cay_cdp_find(call->result, "currentIndex"), &current) &&
            cay_json_view_open(entries.at, entries.len, &entries) == 0) {
                walk = cay_json_view_walk(entries);
                while (cay_json_view_next(&walk, &key, &entry) && current-- > 0)
                        ;
                url = cay_json_view_find(entry, "url");
                cay_json_view_copy(url, a->url, sizeof(a->url));
                cay_json_view_copy(cay_json_view_find(entry, "title"), a->title, sizeof(a->title));
        }
        finish(a);
}

static void look(struct cay_action *a)
{
        const struct cay_target *t = cay_action_target(a);

        a->phase = CAY_ACTION_LOOKS;
        a->is_waiting = false;
        cay_timer_clear(&a->pause);
        cay_timer_clear(&a->deadline);
        if (!t) {
                finish(a);
                return;
        }
        a->call.on_done = on_looked;
        cay_cdp_call(&a->browser->own, &a->call, t->session, "Page.getNavigationHistory", NULL, LOOK_MS);
}

static void on_settled(struct cay_timer *timer)
{
        look(cay_container_of(timer, struct cay_action, pause));
}

static void on_settle(struct cay_timer *timer)
{
        struct cay_action *a = cay_container_of(timer, struct cay_action, pause);
        const struct cay_target *t = cay_action_target(a);

        if (!t || !t->is_loading) {
                look(a);
                return;
        }
        a->is_waiting = true; /* cay_actions_hear */
        cay_timer_set(a->browser->all->env.loop, &a->pause, SETTLE_MAX_MS, on_settled);
}

static void acted(struct cay_action *a)
{
        a->acted_ms = cay_clock_ms();
        if (!(a->row->flags & CAY_ACTION_SETTLES)) {
                look(a);
                return;
        }
        a->phase = CAY_ACTION_SETTLING;
        cay_timer_set(a->browser->all->env.loop, &a->pause, SETTLE_MS, on_settle);
}

/* Steps */

static const struct cay_step *step_of(const struct cay_action *a)
{
        return a->row->steps[a->step];
}

static void on_again(struct cay_timer *timer)
{
        run(cay_container_of(timer, struct cay_action, pause));
}

/* True: the next step may be taken at once. */
static bool follow(struct cay_action *a, enum cay_step_next next)
{
        switch (next) {
        case CAY_STEP_NEXT:
        case CAY_STEP_SKIP:
                a->step++;
                a->turn = 0;
                a->again_ms = 0;
                if (!a->keeps_why)
                        a->why[0] = '\0';
                return true;
        case CAY_STEP_AGAIN:
                a->turn++;
                cay_timer_set(a->browser->all->env.loop, &a->pause, a->again_ms ? a->again_ms : AGAIN_MS,
                              on_again);
                return false;
        case CAY_STEP_WAIT:
                a->is_waiting = true;
                return false;
        default:
                fail(a);
                return false;
        }
}

/* The page has gone on to another document while we looked at it: once more from the beginning. */
static bool lost_its_page(const struct cay_action *a, const struct cay_step *step)
{
        bool has_world = false;

        for (unsigned i = 0; a->row->steps[i] && !has_world; i++)
                has_world =
                        a->row->steps[i]->method && strcmp(a->row->steps[i]->method, CAY_ACTION_WORLD) == 0;
        return has_world && strcmp(step->method, "Runtime.callFunctionOn") == 0 &&
               (strstr(a->call.err.msg, "context") || strstr(a->call.err.msg, "navigated"));
}

/* Input that led to another document is answered so. */
static bool led_away(const struct cay_action *a, const struct cay_step *step)
{
        return cay_str_starts(step->method, "Input.") && strstr(a->call.err.msg, "navigated");
}

/*
 * The answer of a tab or a browser that is going comes before the news that it has gone, which has better
 * words (hear_tab).
 */
static bool is_going(const struct cay_action *a, const struct cay_step *step)
{
        if (a->call.code == 0)
                return false;
        return a->browser->phase >= CAY_BROWSER_CLOSING ||
               (a->call.code == CAY_CDP_NO_SESSION && !step->of_browser && a->row->flags & CAY_ACTION_TAB);
}

static void on_reply(struct cay_cdp_call *call)
{
        struct cay_action *a = cay_container_of(call, struct cay_action, call);
        const struct cay_step *step = step_of(a);
        enum cay_step_next next;

        if (call->err.code != CAY_OK && is_going(a, step)) {
                if (a->row->flags & CAY_ACTION_TAB)
                        hear_tab(a);
                return;
        }
        if (call->err.code != CAY_OK && call->code != 0 && led_away(a, step)) {
                next = step->take ? step->take(a, (struct cay_json_view){ 0 }) : CAY_STEP_NEXT;
        } else if (call->err.code != CAY_OK && call->code != 0 && lost_its_page(a, step)) {
                a->step = 0;
                a->world = 0;
                a->object[0] = a->frame[0] = a->inner[0] = '\0';
                cay_frames_free(cay_take(a->frames));
                next = CAY_STEP_AGAIN;
        } else if (call->code != 0 && strstr(call->err.msg, "Not attached to an active page")) {
                next = CAY_STEP_AGAIN; /* it is between two documents */
        } else if (call->err.code != CAY_OK && a->via[0] && (call->code == 0 || !step->refused)) {
                next = step->lost ? step->lost(a) : cay_action_lost_frame(a);
        } else if (call->err.code != CAY_OK) {
                a->err = call->err;
                next = step->refused && call->code != 0 ? step->refused(a) : CAY_STEP_FAIL;
        } else {
                next = step->take ? step->take(a, call->result) : CAY_STEP_NEXT;
        }
        if (follow(a, next))
                run(a);
}

/* True: it was skipped. */
static bool send_step(struct cay_action *a, const struct cay_step *step)
{
        const struct cay_target *t = step->of_browser ? NULL : cay_action_target(a);
        cay_auto_buf struct cay_buf params = { 0 };
        enum cay_step_next next = CAY_STEP_SEND;
        struct cay_json j;

        cay_buf_init(&params, CAY_CDP_MESSAGE_MAX);
        cay_json_init(&j, &params);
        cay_json_begin_object(&j);
        a->via[0] = '\0';
        if (step->put)
                next = step->put(a, &j);
        cay_json_end_object(&j);
        if (next == CAY_STEP_SEND && cay_json_end(&j) < 0) {
                cay_fail(&a->err, CAY_LIMIT, "%s: no memory for its parameters", step->method);
                next = CAY_STEP_FAIL;
        }
        if (next != CAY_STEP_SEND)
                return follow(a, next);
        a->call.on_done = on_reply;
        cay_cdp_call(&a->browser->own, &a->call,
                     a->via[0]          ? a->via
                     : t                ? t->session
                     : step->of_browser ? ""
                                        : a->session,
                     step->method, cay_buf_data(&params),
                     /* A frame that hangs does not keep the others. Else our own deadline comes first. */
                     a->via[0] ? FRAME_MS : CAY_ACTION_TIMEOUT_MAX_MS + LOOK_MS);
        return false;
}

static void run(struct cay_action *a)
{
        const struct cay_step *step;

        do {
                step = step_of(a);
                if (!step) {
                        acted(a);
                        return;
                }
        } while (step->method ? send_step(a, step) : follow(a, step->take(a, (struct cay_json_view){ 0 })));
}

/* The tab */

static const struct cay_tab *find_tab(const struct cay_browser *b, const char *name)
{
        const struct cay_tab *t = NULL;
        uint64_t number = 0;

        for (const char *at = name; *at >= '0' && *at <= '9' && number < UINT32_MAX; at++)
                number = at[1] == '\0' || (at[1] >= '0' && at[1] <= '9') ? number * 10 + (uint64_t)(*at - '0')
                                                                         : UINT64_MAX;
        for (unsigned i = 0; i < b->tabs.count; i++)
                if (strcmp(b->tabs.items[i].id, name) == 0 || b->tabs.items[i].number == number)
                        t = &b->tabs.items[i];
        return t;
}

static const struct cay_tab *choose_tab(const struct cay_action *a)
{
        const struct cay_browser *b = a->browser;
        const struct cay_tab *t;

        if (a->phase == CAY_ACTION_QUEUED)
                return find_tab(b, a->tab); /* it was chosen when it came */
        if (a->args->tab)
                return find_tab(b, a->args->tab);
        t = b->driver.current[0] ? find_tab(b, b->driver.current) : NULL;
        return t || b->tabs.count == 0 ? t : &b->tabs.items[b->tabs.count - 1];
}

static int fail_crashed(struct cay_action *a, const struct cay_target *t)
{
        if (strcmp(t->crash, "oom") == 0 || strcmp(t->crash, "killed") == 0)
                return cay_fail(
                        &a->err, CAY_LIMIT,
                        "the page's process was killed, as happens when its sandbox runs out of memory; "
                        "raise limits.memory, then navigate again");
        return cay_fail(&a->err, CAY_CONFLICT, "the page crashed (%.39s); navigate again",
                        t->crash[0] ? t->crash : "its process ended");
}

static int fail_dialog(struct cay_action *a, const struct cay_target *t)
{
        return cay_fail(&a->err, CAY_CONFLICT,
                        "the page shows a dialog and waits: %s '%.200s'; answer it first (browser_dialog)",
                        t->dialog.type, t->dialog.message);
}

/* 0; 1: another one is at work there, it has to wait for its turn; -1: err. */
static int take_tab(struct cay_action *a)
{
        const struct cay_tab *tab = choose_tab(a);
        const struct cay_target *t = tab ? cay_driver_tab(&a->browser->driver, tab->id) : NULL;

        if (!tab && a->args->tab) {
                a->field = "tab";
                return cay_fail(&a->err, CAY_NOT_FOUND, "tab: there is no tab '%.40s'", a->args->tab);
        }
        if (!tab && a->phase == CAY_ACTION_QUEUED)
                return cay_fail(&a->err, CAY_CONFLICT, "the tab was closed");
        if (!tab)
                return cay_fail(&a->err, CAY_CONFLICT, "no tab is open; open one (browser_tab_open)");
        if (!t)
                return cay_fail(&a->err, CAY_UNAVAILABLE, "tab %u is not ready yet; retry", tab->number);
        cay_str_copy(a->tab, sizeof(a->tab), tab->id);
        a->tab_number = tab->number;
        if (changes(a) && find_busy(a->browser, a->tab)) {
                if (a->phase != CAY_ACTION_QUEUED)
                        a->turn_nr = ++a->browser->turns;
                return 1;
        }
        if (t->has_crashed && !(a->row->flags & CAY_ACTION_REVIVES))
                return fail_crashed(a, t);
        if (t->dialog.type[0] != '\0' && !(a->row->flags & CAY_ACTION_DIALOG))
                return fail_dialog(a, t);
        cay_str_copy(a->browser->driver.current, sizeof(a->browser->driver.current), tab->id);
        cay_str_copy(a->loader, sizeof(a->loader), t->loader);
        a->within = t->within;
        return 0;
}

static void go(struct cay_action *a)
{
        int r = a->row->flags & CAY_ACTION_TAB ? take_tab(a) : 0;

        cay_timer_clear(&a->pause);
        a->phase = r > 0 ? CAY_ACTION_QUEUED : CAY_ACTION_GOES;
        if (r > 0)
                return;
        a->ready_ms = cay_clock_ms();
        a->last_tab = a->browser->tabs.last_number;
        if (r < 0)
                fail(a);
        else
                run(a);
}

static void on_turn(struct cay_timer *timer)
{
        go(cay_container_of(timer, struct cay_action, pause));
}

/* The browser */

/* The oldest. */
static struct cay_action *first_new(const struct cay_browser *b)
{
        struct cay_action *ret = NULL;

        for (struct cay_action *a = b->actions; a; a = a->next)
                if (a->phase == CAY_ACTION_NEW)
                        ret = a;
        return ret;
}

void cay_actions_wake(struct cay_browser *b)
{
        struct cay_action *a;

        if (!cay_browser_is_ready(b) || !b->actions)
                return;
        while ((a = first_new(b)) != NULL) {
                if (b->driver.is_on) {
                        go(a);
                } else if (b->driver.why.code != CAY_OK) {
                        a->err = b->driver.why;
                        fail(a);
                } else {
                        cay_driver_begin(&b->driver, &b->own);
                        return;
                }
        }
        b->driver.why = (struct cay_error){ 0 };
}

/* What has become of its tab. True: it is over. */
static bool hear_tab(struct cay_action *a)
{
        const struct cay_target *t = cay_action_target(a);

        if (!t && a->browser->phase >= CAY_BROWSER_CLOSING) {
                return true; /* its end comes, with its own words */
        } else if (!t) {
                cay_fail(&a->err, CAY_CONFLICT, "the tab was closed");
                fail(a);
        } else if (t->has_crashed && !(a->row->flags & CAY_ACTION_REVIVES)) {
                if (t->crash[0] == '\0')
                        return false; /* how it ended comes at once */
                fail_crashed(a, t);
                fail(a);
        } else if (t->dialog.type[0] != '\0' && !(a->row->flags & CAY_ACTION_DIALOG)) {
                if (a->row->flags & CAY_ACTION_INPUT) {
                        a->dialog = t->dialog;
                        a->acted_ms = cay_clock_ms();
                        cay_cdp_call_cancel(&a->call);
                        look(a);
                } else {
                        fail_dialog(a, t);
                        fail(a);
                }
        } else {
                return false;
        }
        return true;
}

static void hear(struct cay_action *a)
{
        const struct cay_target *t;

        if (a->row->flags & CAY_ACTION_TAB && a->phase < CAY_ACTION_LOOKS && hear_tab(a))
                return;
        if (!a->is_waiting)
                return;
        t = cay_action_target(a);
        if (a->phase == CAY_ACTION_SETTLING) {
                if (!t || !t->is_loading)
                        look(a);
                return;
        }
        a->is_waiting = false;
        if (follow(a, step_of(a)->take(a, (struct cay_json_view){ 0 })))
                run(a);
}

/* One may end in here, and its owner may begin or cancel others: after each the list is looked at anew. */
void cay_actions_hear(struct cay_browser *b)
{
        struct cay_action *a = b->actions;
        unsigned number = ++b->heard;

        while (a) {
                if (a->heard == number || a->phase <= CAY_ACTION_QUEUED) {
                        a = a->next;
                        continue;
                }
                a->heard = number;
                hear(a);
                a = b->actions;
        }
}

void cay_actions_end(struct cay_browser *b, const struct cay_error *why)
{
        while (b->actions) {
                struct cay_action *a = b->actions;

                a->err = *why;
                if (a->phase == CAY_ACTION_LOOKS)
                        a->err = (struct cay_error){ 0 }; /* it was done by then */
                if (a->err.code != CAY_OK)
                        fail(a);
                else
                        finish(a);
        }
}

static void on_deadline(struct cay_timer *timer)
{
        struct cay_action *a = cay_container_of(timer, struct cay_action, deadline);
        uint64_t ms = a->args->timeout_ms ? a->args->timeout_ms : CAY_ACTION_TIMEOUT_MS;

        if (a->phase == CAY_ACTION_SETTLING) {
                look(a);
                return;
        }
        a->err = (struct cay_error){ 0 };
        cay_fail(&a->err, CAY_TIMEOUT, "%s was not done in %llu.%llu seconds: %s", a->row->name,
                 (unsigned long long)(ms / 1000), (unsigned long long)(ms % 1000 / 100),
                 a->why[0]                       ? a->why
                 : a->phase == CAY_ACTION_NEW    ? "the browser is still being started"
                 : a->phase == CAY_ACTION_QUEUED ? "another action was at work in this tab all the time"
                                                 : "the page does not answer");
        fail(a);
}

static void on_failed_soon(struct cay_timer *timer)
{
        finish(cay_container_of(timer, struct cay_action, pause));
}

static void on_wake(struct cay_timer *timer)
{
        cay_actions_wake(cay_container_of(timer, struct cay_action, pause)->browser);
}

void cay_action_begin(struct cay_browsers *bs, const struct cay_viewer *v, struct cay_action *a)
{
        struct cay_browser *b = a->only_running
                                        ? cay_browser_find(bs, v, a->args->id, &a->err)
                                        : cay_browser_find_or_start(bs, v, a->args->id, NULL, &a->err);

        a->begin_ms = cay_clock_ms();
        cay_buf_init(&a->kept, CAY_CDP_MESSAGE_MAX);
        if (b && a->row->flags & CAY_ACTION_ACTS && cay_live_is_taken(b)) {
                cay_fail(&a->err, CAY_CONFLICT, "%s", CAY_CDP_TAKEN);
                cay_timer_set(bs->env.loop, &a->pause, 0, on_failed_soon);
                return;
        }
        if (!b) {
                a->field = a->err.code == CAY_NOT_FOUND ? "id" : NULL;
                cay_timer_set(bs->env.loop, &a->pause, 0, on_failed_soon);
                return;
        }
        if (b->payer)
                cay_buf_charge(&a->kept, &b->payer->budget);
        a->browser = b;
        a->next = b->actions;
        a->is_linked = true;
        b->actions = a;
        cay_browser_note_use(b);
        cay_timer_set(bs->env.loop, &a->deadline,
                      a->args->timeout_ms ? a->args->timeout_ms : CAY_ACTION_TIMEOUT_MS, on_deadline);
        cay_timer_set(bs->env.loop, &a->pause, 0, on_wake);
}
