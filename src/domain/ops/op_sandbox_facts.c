/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of a sandbox, and its journal. */
#include "domain/ops/event_follow.h"
#include "domain/ops/view.h"
#include "domain/sandboxes/history.h"
#include "domain/ops/result_rows.h"

#define EVENTS_DEFAULT 100u

struct stats_args {
        const char *id;
        bool history;
};

static const struct cay_field stats_fields[] = {
        { "id", CAY_FIELD_TEXT, offsetof(struct stats_args, id), 0, "the sandbox", .min = 1,
          .max = CAY_NAME_MAX },
        { "history", CAY_FIELD_BOOL, offsetof(struct stats_args, history), 0,
          "also what it used in the last half hour, as far as this daemon has seen it: a point every 15 "
          "seconds, every minute while no command runs" },
        {},
};

struct stats {
        struct cay_service_stats service;
        struct cay_op_call *call;
};

#define POINT struct cay_history_point
#define STATS struct cay_engine_stats

RESULT(result_point, "StatsPoint", AS("at", TIME, POINT, wall_ms), MEMBER(NUMBER, POINT, cpu_milli),
       MEMBER(NUMBER, POINT, memory_bytes), MEMBER(NUMBER, POINT, pids),
       AS("rx_bytes_per_s", NUMBER, POINT, rx_per_s), AS("tx_bytes_per_s", NUMBER, POINT, tx_per_s),
       AS("loopback_bytes_per_s", NUMBER, POINT, loopback_per_s));
RESULT(result_stats, NULL, MEMBER(NUMBER, STATS, memory_bytes), MEMBER(NUMBER, STATS, memory_peak_bytes),
       MEMBER(NUMBER, STATS, oom_kills), MEMBER(NUMBER, STATS, pids), MEMBER(NUMBER, STATS, pids_refused),
       MEMBER(NUMBER, STATS, cpu_us), MEMBER(NUMBER, STATS, rx_bytes), MEMBER(NUMBER, STATS, tx_bytes),
       MEMBER(NUMBER, STATS, loopback_bytes), IF_LIST("history", result_point));

static void put_history(struct cay_json *j, const struct cay_history *h)
{
        const struct cay_history_point *p;

        cay_json_key(j, "history");
        cay_json_begin_array(j);
        for (unsigned i = 0; h && (p = cay_history_at(h, i)); i++)
                cay_op_put_object(j, &result_point, p);
        cay_json_end_array(j);
}

static void on_stats(struct cay_job *job)
{
        struct stats *s = cay_container_of(job, struct stats, service.call.job);
        const struct stats_args *a = s->call->args;
        struct cay_viewer viewer = cay_op_viewer(s->call);
        struct cay_op_result o;

        if (job->err.code != CAY_OK) {
                cay_op_fail(s->call, &job->err, NULL);
        } else {
                cay_op_result_begin(&o, s->call);
                cay_op_put_members(&o.j, &result_stats, &s->service.stats);
                if (a->history)
                        put_history(&o.j, cay_service_history(s->call->world->service, &viewer, a->id));
                cay_op_result_answer(&o, s->call, CAY_OP_OK);
        }
        free(s);
}

static void run_stats(struct cay_op_call *c)
{
        const struct stats_args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct stats *s = cay_op_alloc(c, sizeof(*s));

        if (!s)
                return;
        s->call = c;
        cay_job_init(&s->service.call.job, on_stats);
        cay_service_stats(c->world->service, &viewer, a->id, &s->service);
}

const struct cay_op cay_op_sandbox_stats = {
        .name = "sandbox_stats",
        .route = "GET /api/sandboxes/{id}/stats",
        .doc = "What a sandbox uses now",
        .scope = CAY_SCOPE_READ,
        .fields = stats_fields,
        .args_size = sizeof(struct stats_args),
        .result = &result_stats,
        .run = run_stats,
};

/* The journal */

struct event_args {
        const char *id, *kind;
        uint64_t after, before, max;
        bool newest_first, follow, new_only;
};

#define EVENT_FIELDS                                                                                         \
        { "after", CAY_FIELD_U64, offsetof(struct event_args, after), 0, "later than this number" },         \
                { "before", CAY_FIELD_U64, offsetof(struct event_args, before), 0,                           \
                  "earlier than this number" },                                                              \
                { "kind", CAY_FIELD_TEXT,       offsetof(struct event_args, kind),                           \
                  0,      "of this kind alone", .max = 63 },                                                 \
                { "limit",                                                                                   \
                  CAY_FIELD_U64,                                                                             \
                  offsetof(struct event_args, max),                                                          \
                  0,                                                                                         \
                  "at most this many; default 100",                                                          \
                  .min = 1,                                                                                  \
                  .max = CAY_STORE_ROWS_MAX },                                                               \
                { "newest_first", CAY_FIELD_BOOL, offsetof(struct event_args, newest_first), 0,              \
                  "newest first" },                                                                          \
                { "follow", CAY_FIELD_BOOL, offsetof(struct event_args, follow), 0,                          \
                  "a stream: those that there are, then each as it happens" },                               \
        {                                                                                                    \
                "new_only", CAY_FIELD_BOOL, offsetof(struct event_args, new_only), 0,                        \
                        "following: leave out those that there are, unless `after` is given"                 \
        }

static const struct cay_field sandbox_event_fields[] = {
        { "id", CAY_FIELD_TEXT, offsetof(struct event_args, id), 0, "the sandbox; also one that is gone",
          .min = 1, .max = CAY_NAME_MAX },
        EVENT_FIELDS,
        {},
};

static const struct cay_field event_fields[] = { EVENT_FIELDS, {} };

struct events {
        struct cay_store_query query;
        struct cay_viewer viewer;
        struct cay_op_call *call;
        const char *sandbox; /* NULL: all */
        char id[CAY_NAME_MAX + 1];
};

/* No events: checks whether it exists for this caller. */
static bool is_unknown(const struct events *s, struct cay_error *err)
{
        const struct event_args *a = s->call->args;
        struct cay_sandbox_view view;

        return s->query.count == 0 && a->id &&
               cay_service_get(s->call->world->service, &s->viewer, a->id, &view, err) < 0;
}

static void on_events(struct cay_job *job)
{
        struct events *s = cay_container_of(job, struct events, query.job);
        struct cay_error err = { 0 };
        struct cay_op_result o;

        if (job->err.code != CAY_OK) {
                cay_op_fail(s->call, &job->err, NULL);
        } else if (is_unknown(s, &err)) {
                cay_op_fail(s->call, &err, NULL);
        } else {
                cay_op_result_begin(&o, s->call);
                cay_json_key(&o.j, "events");
                cay_json_begin_array(&o.j);
                for (unsigned i = 0; i < s->query.count; i++) {
                        cay_json_begin_object(&o.j);
                        cay_op_put_members(&o.j, &cay_result_event, s->query.rows[i]);
                        cay_json_end_object(&o.j);
                }
                cay_json_end_array(&o.j);
                cay_op_result_answer(&o, s->call, CAY_OP_OK);
        }
        cay_store_query_done(&s->query);
        free(s);
}

/* Refuses what a stream cannot do. */
static void run_follow(struct cay_op_call *c)
{
        const struct event_args *a = c->args;
        const struct cay_op_follow what = {
                .sandbox = a->id, .kind = a->kind, .after = a->after, .new_only = a->new_only
        };
        struct cay_error err = { 0 };

        if (!a->newest_first && a->before == 0 && a->max == 0) {
                cay_op_event_follow(c, &what);
                return;
        }
        cay_fail(&err, CAY_INVALID, "follow: excludes before, limit and newest_first");
        cay_op_fail(c, &err, "follow");
}

static void run_events(struct cay_op_call *c)
{
        const struct event_args *a = c->args;
        struct cay_sandbox_view view;
        struct cay_error err = { 0 };
        struct events *s;

        if (a->follow) {
                run_follow(c);
                return;
        }
        s = cay_op_alloc(c, sizeof(*s));
        if (!s)
                return;
        s->call = c;
        s->viewer = cay_op_viewer(c); /* used until the query is done: its owner is the call's */
        cay_job_init(&s->query.job, on_events);
        s->query.id = a->kind;
        s->query.after = a->after;
        s->query.before = a->before;
        s->query.newest_first = a->newest_first;
        s->query.max = a->max ? (unsigned)a->max : EVENTS_DEFAULT;
        s->sandbox = a->id;
        if (a->id && cay_service_get(c->world->service, &s->viewer, a->id, &view, &err) == 0) {
                memccpy(s->id, view.id, '\0', CAY_NAME_MAX); /* it may have been its name */
                s->sandbox = s->id;
        }
        cay_service_events(c->world->service, &s->viewer, s->sandbox, &s->query);
}

RESULT(result_events, NULL, LIST("events", cay_result_event));

const struct cay_op cay_op_sandbox_events = {
        .name = "sandbox_events",
        .route = "GET /api/sandboxes/{id}/events",
        .doc = "What happened to a sandbox, or what happens to it from now on",
        .scope = CAY_SCOPE_READ,
        .flags = CAY_OP_STREAM,
        .fields = sandbox_event_fields,
        .args_size = sizeof(struct event_args),
        .result = &result_events,
        .verb = CAY_OP_VERB(
                "journal", "id",
                "Lists what happened to a sandbox, also to one that was destroyed. `cay journal verify ID`\n"
                "checks that nothing of it was changed; `cay events` lists the events of all sandboxes.",
                "events: NR=seq AT=at EVENT=kind HASH=hash"),
        .run = run_events,
};

const struct cay_op cay_op_event_list = {
        .name = "event_list",
        .route = "GET /api/events",
        .doc = "What happened to all sandboxes that one may see, or what happens from now on",
        .scope = CAY_SCOPE_READ,
        .flags = CAY_OP_STREAM,
        .fields = event_fields,
        .args_size = sizeof(struct event_args),
        .result = &result_events,
        .run = run_events,
};
