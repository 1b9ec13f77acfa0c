/* SPDX-License-Identifier: Apache-2.0 */
#include "dialects/e2b/e2b_watcher.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/e2b/e2b_changes.h"
#include "domain/auth/digest.h"
#include "foundation/base/fair.h"
#include "foundation/base/str.h"
#include "foundation/loop/loop.h"

#define ID_LEN 32u
#define WATCHERS_MAX 256u
#define OF_SANDBOX_MAX 32u
#define EVENTS_BYTES (1u << 20) /* that wait for the next request */
#define IDLE_MS (10u * 60 * 1000)

struct e2b_watcher {
        struct e2b_watcher *next;
        struct cay_e2b *e2b;
        char id[ID_LEN + 1], sandbox[CAY_NAME_MAX + 1], of_owner[CAY_OWNER_MAX + 1];
        struct cay_call *ask;        /* file_watch; NULL: it has ended */
        struct e2b_request *creator; /* waits for the watch to begin; NULL: answered */
        struct cay_guard guard;      /* with the pass of who made it */
        struct cay_timer idle;
        struct cay_budget_owner *owner; /* who is charged for them; NULL: nobody counts */
        struct e2b_changes changes;
        struct cay_buf events; /* as JSON, with commas between them */
        bool has_lost;         /* events that there was no room for */
        bool is_dropped;       /* freed when the call ends */
};

static void free_watcher(struct e2b_watcher *w)
{
        cay_guard_end(&w->guard);
        cay_timer_clear(&w->idle);
        e2b_changes_done(&w->changes);
        cay_buf_done(&w->events);
        cay_budget_owner_put(w->owner);
        free(w);
}

static void drop(struct e2b_watcher *w)
{
        struct e2b_watcher **at = &w->e2b->watchers;

        if (w->is_dropped)
                return;
        while (*at != w)
                at = &(*at)->next;
        *at = w->next;
        w->is_dropped = true;
        cay_guard_end(&w->guard);
        cay_timer_clear(&w->idle);
        e2b_changes_done(&w->changes);
        if (w->ask)
                cay_call_gone(w->ask);
        else
                free_watcher(w);
}

/* The key was revoked: nobody can ask for its events any more. */
static void on_over(struct cay_guard *g, const char *why)
{
        (void)why;
        drop(cay_container_of(g, struct e2b_watcher, guard));
}

static void on_idle(struct cay_timer *t)
{
        drop(cay_container_of(t, struct e2b_watcher, idle));
}

static void touch(struct e2b_watcher *w)
{
        cay_timer_set(w->e2b->world->loop, &w->idle, IDLE_MS, on_idle);
}

/* Events */

static void put_change(void *ctx, const struct e2b_change *change)
{
        struct e2b_watcher *w = ctx;
        size_t before = w->events.len;
        struct cay_json j;
        int r = 0;

        if (w->has_lost)
                return;
        if (before > 0)
                r = cay_buf_putc(&w->events, ',');
        cay_json_init(&j, &w->events);
        cay_json_begin_object(&j);
        e2b_change_put(&j, change);
        cay_json_end_object(&j);
        if (r < 0 || cay_json_end(&j) < 0) {
                cay_buf_cut(&w->events, before);
                w->has_lost = true;
        }
}

static void answer_created(struct e2b_watcher *w)
{
        struct e2b_request *q = cay_take(w->creator);
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_json j;

        if (!q)
                return;
        q->on_client_gone = NULL;
        e2b_begin_json(&j, &out);
        cay_json_begin_object(&j);
        cay_op_key_text(&j, "watcherId", w->id);
        cay_json_end_object(&j);
        e2b_answer_json(q, 200, &j, &out);
}

static ssize_t on_event(struct cay_call *a, const char *id, const char *kind,
                        const struct cay_json_value *event)
{
        struct e2b_watcher *w = cay_call_user(a);

        (void)id;
        if (strcmp(kind, "ready") == 0)
                answer_created(w);
        else if (strcmp(kind, "overflow") == 0 || e2b_changes_add(&w->changes, kind, event) < 0)
                w->has_lost = true;
        return 0;
}

static void refuse_creator(struct e2b_watcher *w, const struct cay_error *err)
{
        struct e2b_request *q = cay_take(w->creator);

        if (!q)
                return;
        q->on_client_gone = NULL;
        e2b_fail(q, err);
}

static void end(struct e2b_watcher *w, const struct cay_error *err)
{
        bool was_new = w->creator != NULL;

        w->ask = NULL;
        e2b_changes_flush(&w->changes);
        refuse_creator(w, err);
        if (w->is_dropped)
                free_watcher(w);
        else if (was_new)
                drop(w);
}

static void on_fail(struct cay_call *a, const struct cay_error *err, const char *field, const char *first)
{
        (void)field;
        (void)first;
        end(cay_call_user(a), err);
}

static void on_end(struct cay_call *a, bool was_cut)
{
        struct cay_error err = { 0 };

        (void)was_cut;
        cay_fail(&err, CAY_NOT_FOUND, "the folder, or its sandbox, is gone");
        end(cay_call_user(a), &err);
}

/* CreateWatcher */

static void on_creator_gone(struct e2b_request *q)
{
        for (struct e2b_watcher *w = q->e2b->watchers; w; w = w->next) {
                if (w->creator != q)
                        continue;
                w->creator = NULL;
                drop(w);
                return;
        }
}

static bool has_room(const struct e2b_request *q)
{
        unsigned all = 0, own = 0, of_sandbox = 0;

        for (const struct e2b_watcher *w = q->e2b->watchers; w; w = w->next) {
                all++;
                own += strcmp(w->of_owner, q->caller.owner) == 0;
                of_sandbox += strcmp(w->sandbox, q->sandbox) == 0;
        }
        return cay_fair_has_room(WATCHERS_MAX, WATCHERS_MAX, all, own) && of_sandbox < OF_SANDBOX_MAX;
}

static struct e2b_watcher *new_watcher(struct e2b_request *q, const char *path, bool as_root)
{
        struct e2b_watcher *w = calloc(1, sizeof(*w));
        uint8_t random[ID_LEN / 2];

        if (!w || cay_digest_random(random, sizeof(random)) < 0) {
                free(w);
                return NULL;
        }
        for (unsigned i = 0; i < sizeof(random); i++)
                snprintf(w->id + 2 * (size_t)i, 3, "%02x", random[i]);
        w->e2b = q->e2b;
        w->creator = q;
        cay_str_copy(w->sandbox, sizeof(w->sandbox), q->sandbox);
        cay_str_copy(w->of_owner, sizeof(w->of_owner), q->caller.owner);
        w->owner = q->world->budgets ? cay_budget_owner_get(q->world->budgets, q->caller.owner) : NULL;
        cay_buf_init(&w->events, EVENTS_BYTES);
        if (w->owner)
                cay_buf_charge(&w->events, &w->owner->budget);
        e2b_changes_begin(&w->changes, q, path, as_root);
        w->changes.put = put_change;
        w->changes.ctx = w;
        w->next = q->e2b->watchers;
        q->e2b->watchers = w;
        q->on_client_gone = on_creator_gone;
        return w;
}

void e2b_watcher_begin(struct e2b_request *q, const char *path, bool as_root, bool recursive)
{
        static const struct cay_call_ops ops = { .on_fail = on_fail, .on_event = on_event, .on_end = on_end };
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct cay_call_what what = { .op = cay_op_find("file_watch"),
                                      .world = q->world,
                                      .caller = q->caller,
                                      .is_known = q->is_known,
                                      .dialect = CAY_OP_E2B,
                                      .wants_stream = true,
                                      .fd = -1,
                                      .args = &args,
                                      .request_id = q->request_id,
                                      .ops = &ops };
        struct e2b_watcher *w;

        if (!has_room(q)) {
                e2b_refuse(q, CAY_LIMIT,
                           "at most %u watchers of a sandbox, and half of what others leave of %u",
                           OF_SANDBOX_MAX, WATCHERS_MAX);
                return;
        }
        w = new_watcher(q, path, as_root);
        if (!w) {
                e2b_fail_memory(q);
                return;
        }
        e2b_args_begin(q, &args);
        cay_op_key_text(&args.j, "path", path);
        cay_op_key_bool(&args.j, "as_root", as_root);
        cay_op_key_bool(&args.j, "recursive", recursive);
        what.user = w;
        w->ask = cay_call(&what);
        if (w->ask) {
                w->guard.pass = q->guard.pass;
                cay_guard_begin(&w->guard, on_over);
                touch(w);
                return;
        }
        w->creator = NULL;
        q->on_client_gone = NULL;
        drop(w);
        e2b_fail_memory(q);
}

/* GetWatcherEvents, RemoveWatcher */

/* NULL: refused. */
static struct e2b_watcher *find(struct e2b_request *q)
{
        const char *id = cay_json_value_text(e2b_member(q, "watcherId"));

        if (!id)
                id = cay_json_value_text(e2b_member(q, "watcher_id"));
        for (struct e2b_watcher *w = q->e2b->watchers; id && w; w = w->next)
                if (strcmp(w->sandbox, q->sandbox) == 0 && strcmp(w->id, id) == 0 && !w->creator)
                        return w;
        e2b_refuse(q, CAY_NOT_FOUND, "watcher '%.40s' not found", id ? id : "");
        return NULL;
}

static void run_events(struct e2b_request *q)
{
        struct e2b_watcher *w = find(q);
        cay_auto_buf struct cay_buf out = { 0 };

        if (!w)
                return;
        touch(w);
        if (w->has_lost) {
                w->has_lost = false;
                cay_buf_clear(&w->events);
                e2b_refuse(q, CAY_LIMIT,
                           "events were lost: more happened than fits; look at the folder again");
                return;
        }
        if (!w->ask && w->events.len == 0) {
                e2b_refuse(q, CAY_NOT_FOUND, "the folder is gone");
                drop(w);
                return;
        }
        cay_buf_init(&out, EVENTS_BYTES + 64);
        if (cay_buf_printf(&out, "{\"events\":[%s]}", cay_buf_data(&w->events)) < 0) {
                e2b_fail_memory(q);
                return;
        }
        cay_buf_clear(&w->events);
        e2b_answer(q, 200, &out);
}

static void run_remove(struct e2b_request *q)
{
        struct e2b_watcher *w = find(q);
        cay_auto_buf struct cay_buf out = { 0 };

        if (!w)
                return;
        drop(w);
        cay_buf_init(&out, 8);
        cay_buf_puts(&out, "{}");
        e2b_answer(q, 200, &out);
}

void e2b_watchers_stop(struct cay_e2b *e)
{
        while (e->watchers)
                drop(e->watchers);
}

void e2b_watchers_free(struct cay_e2b *e)
{
        while (e->watchers) {
                struct e2b_watcher *w = e->watchers;

                e->watchers = w->next;
                free_watcher(w);
        }
}

static const struct e2b_row rows[] = {
        { "POST /filesystem.Filesystem/GetWatcherEvents", run_events, E2B_FORM_UNARY, E2B_TAKES_JSON },
        { "POST /filesystem.Filesystem/RemoveWatcher", run_remove, E2B_FORM_UNARY, E2B_TAKES_JSON },
};

const struct e2b_rows e2b_watcher_rows = { rows, CAY_COUNT(rows) };
