/* SPDX-License-Identifier: Apache-2.0 */
/* Writes metrics in their two forms. */
#include "domain/ops/metrics.h"

#include <inttypes.h>

#include "domain/ops/result_rows.h"
#include "domain/ops/view.h"

static const char *const classes[] = { "2xx", "3xx", "4xx", "5xx" };

/* JSON */

#define METRICS struct cay_metrics
#define HISTOGRAM struct cay_histogram
#define WINDOW struct cay_window_figures
#define POOL struct cay_pool_figures
#define SNAPSHOTS struct cay_snapshot_figures
#define USED struct cay_metrics_used

RESULT(result_bucket, NULL, NUMBER("le_ms"), NUMBER("count"));

static void put_buckets(struct cay_json *j, const void *object, enum cay_op_dialect dialect)
{
        const HISTOGRAM *h = object;
        uint64_t sum = 0;

        cay_json_begin_array(j);
        for (unsigned i = 0; i < CAY_METER_BUCKETS; i++) {
                sum += h->buckets[i];
                cay_json_begin_object(j);
                cay_op_key_u64(j, "le_ms", cay_histogram_bounds_ms[i]);
                cay_op_key_u64(j, "count", sum);
                cay_json_end_object(j);
        }
        cay_json_end_array(j);
}

SHARED_RESULT(cay_result_histogram, "Histogram", MEMBER(NUMBER, HISTOGRAM, count),
              MEMBER(NUMBER, HISTOGRAM, sum_us), COMPUTED_OF("buckets", LIST, result_bucket, put_buckets));

/* The last hour: exact enough for p50 and p99, unlike the buckets above */

RESULT(result_figures, NULL, MEMBER(NUMBER, WINDOW, count), MEMBER(NUMBER, WINDOW, p50_us),
       MEMBER(NUMBER, WINDOW, p99_us), MEMBER(NUMBER, WINDOW, max_us));
RESULT(result_minute, NULL, NUMBER("ago"), ALSO(result_figures));
RESULT(result_recent, "LastHour", ALSO(result_figures), LIST("minutes", result_minute));
RESULT(result_hour, NULL, OBJECT("create", result_recent), OBJECT("exec_start", result_recent),
       OBJECT("exec_run", result_recent));

static void put_recent(struct cay_json *j, const char *key, const struct cay_window *w, uint64_t now_ms)
{
        struct cay_window_figures f;

        cay_json_key(j, key);
        cay_json_begin_object(j);
        cay_window_hour(w, now_ms, &f);
        cay_op_put_members(j, &result_figures, &f);
        cay_json_key(j, "minutes");
        cay_json_begin_array(j);
        for (unsigned ago = CAY_WINDOW_MINUTES; ago-- > 0;) {
                if (!cay_window_minute(w, now_ms, ago, &f))
                        continue;
                cay_json_begin_object(j);
                cay_op_key_u64(j, "ago", ago);
                cay_op_put_members(j, &result_figures, &f);
                cay_json_end_object(j);
        }
        cay_json_end_array(j);
        cay_json_end_object(j);
}

static void put_last_hour(struct cay_json *j, const void *object, enum cay_op_dialect dialect)
{
        const METRICS *m = object;

        cay_json_begin_object(j);
        put_recent(j, "create", &m->meter->create.recent, m->now_ms);
        put_recent(j, "exec_start", &m->meter->exec_start.recent, m->now_ms);
        put_recent(j, "exec_run", &m->meter->exec_run.recent, m->now_ms);
        cay_json_end_object(j);
}

/* Sandboxes */

static void put_states(struct cay_json *j, const void *object, enum cay_op_dialect dialect)
{
        const METRICS *m = object;

        cay_json_begin_object(j);
        for (unsigned i = 0; i < CAY_STATE_COUNT; i++)
                cay_op_key_u64(j, cay_state_word(i), m->health.by_state[i]);
        cay_json_end_object(j);
}

static void put_engines(struct cay_json *j, const void *object, enum cay_op_dialect dialect)
{
        const METRICS *m = object;

        cay_json_begin_object(j);
        for (unsigned i = 0; i < m->health.engine_count; i++)
                cay_op_key_u64(j, m->health.engines[i].name, m->health.engines[i].alive);
        cay_json_end_object(j);
}

static void put_creation(struct cay_json *j, const void *object, enum cay_op_dialect dialect)
{
        cay_op_put_object(j, &cay_result_histogram, &((const METRICS *)object)->meter->create.all);
}

SHARED_RESULT(cay_result_metric_sandboxes, NULL, AS("known", NUMBER, METRICS, health.known),
              AS("alive", NUMBER, METRICS, health.alive),
              AS("links_lost", NUMBER, METRICS, health.links_lost),
              AS("asleep", NUMBER, METRICS, health.asleep), COMPUTED("states", COUNTS, 0, put_states),
              COMPUTED("engines", COUNTS, 0, put_engines));
RESULT(result_creations, NULL, AS("started", NUMBER, METRICS, health.creates),
       AS("failed", NUMBER, METRICS, health.create_failures),
       IF_GIVEN("waiting", NUMBER, METRICS, waiting, is_whole),
       COMPUTED_OF("latency", OBJECT, cay_result_histogram, put_creation));
SHARED_RESULT(cay_result_metric_used, NULL, MEMBER(NUMBER, USED, sandboxes),
              MEMBER(NUMBER, USED, memory_bytes), MEMBER(NUMBER, USED, memory_limit_bytes),
              MEMBER(NUMBER, USED, cpu_us), MEMBER(NUMBER, USED, pids));
RESULT(result_pool, NULL, MEMBER(NUMBER, POOL, ready), MEMBER(NUMBER, POOL, making),
       MEMBER(NUMBER, POOL, wanted), MEMBER(NUMBER, POOL, most), MEMBER(NUMBER, POOL, warm),
       AS("memory_bytes", NUMBER, POOL, bytes), AS("memory_limit_bytes", NUMBER, POOL, bytes_most),
       MEMBER(NUMBER, POOL, claimed), MEMBER(NUMBER, POOL, missed), MEMBER(NUMBER, POOL, failed),
       MEMBER(NUMBER, POOL, dropped));

RESULT(result_snapshots, NULL, AS("count", NUMBER, SNAPSHOTS, snapshots), MEMBER(NUMBER, SNAPSHOTS, steps),
       MEMBER(NUMBER, SNAPSHOTS, added_bytes));

/* Commands */

RESULT(result_execs, NULL, NUMBER("started"), NUMBER("running"), NUMBER("ended"), COUNTS("causes"),
       OBJECT("start_latency", cay_result_histogram), OBJECT("duration", cay_result_histogram),
       NUMBER("cpu_us"));

static uint64_t count_ends(const struct cay_service_meter *m)
{
        uint64_t sum = 0;

        for (unsigned i = 0; i < CAY_CAUSE_COUNT; i++)
                sum += m->exec_ends[i];
        return sum;
}

static void put_execs(struct cay_json *j, const void *object, enum cay_op_dialect dialect)
{
        const METRICS *m = object;

        cay_json_begin_object(j);
        cay_op_key_u64(j, "started", m->health.execs);
        cay_op_key_u64(j, "running", m->health.execs_running);
        cay_op_key_u64(j, "ended", count_ends(m->meter));
        cay_json_key(j, "causes");
        cay_json_begin_object(j);
        for (unsigned i = CAY_CAUSE_NONE + 1; i < CAY_CAUSE_COUNT; i++)
                cay_op_key_u64(j, cay_cause_word(i), m->meter->exec_ends[i]);
        cay_json_end_object(j);
        cay_json_key(j, "start_latency");
        cay_op_put_object(j, &cay_result_histogram, &m->meter->exec_start.all);
        cay_json_key(j, "duration");
        cay_op_put_object(j, &cay_result_histogram, &m->meter->exec_run.all);
        cay_op_key_u64(j, "cpu_us", m->meter->exec_cpu_us);
        cay_json_end_object(j);
}

/* The daemon's own figures, for admins only */

static void put_http_answers(struct cay_json *j, const void *object, enum cay_op_dialect dialect)
{
        const METRICS *m = object;

        cay_json_begin_object(j);
        for (unsigned i = 0; m->http_answers && i < CAY_COUNT(classes); i++)
                cay_op_key_u64(j, classes[i], m->http_answers[i + 2]);
        cay_json_end_object(j);
}

static void put_covers(struct cay_json *j, const void *object, enum cay_op_dialect dialect)
{
        cay_json_text(j, ((const METRICS *)object)->is_whole ? "service" : "own");
}

RESULT(result_daemon, NULL, AS("engine_up", BOOL, METRICS, health.engine_up),
       AS("adoptions", NUMBER, METRICS, health.adoptions), AS("relinks", NUMBER, METRICS, health.relinks),
       AS("network_allowed", NUMBER, METRICS, health.network.allowed),
       AS("network_refused", NUMBER, METRICS, health.network.refused),
       AS("network_failed", NUMBER, METRICS, health.network.failed),
       AS("network_up_bytes", NUMBER, METRICS, health.network.up_bytes),
       AS("network_down_bytes", NUMBER, METRICS, health.network.down_bytes),
       AS("store_bytes", NUMBER, METRICS, health.store.file_bytes),
       AS("store_queued", NUMBER, METRICS, health.store.queued),
       AS("started_at", TIME, METRICS, started_wall_ms));
SHARED_RESULT(cay_result_metrics, "Metrics", COMPUTED("covers", TEXT, 0, put_covers),
              OBJECT_HERE("sandboxes", cay_result_metric_sandboxes),
              OBJECT_HERE("creations", result_creations),
              COMPUTED_OF("execs", OBJECT, result_execs, put_execs),
              COMPUTED_OF("last_hour", OBJECT, result_hour, put_last_hour),
              OBJECT_AS("resources", cay_result_metric_used, METRICS, used),
              OBJECT_AS("pool", result_pool, METRICS, health.pool),
              OBJECT_AS("snapshots", result_snapshots, METRICS, health.snapshots),
              COMPUTED_IF("http_answers", COUNTS, put_http_answers, METRICS, is_whole),
              IF_OBJECT_HERE("daemon", result_daemon, METRICS, is_whole));

/* Text: errors are sticky, as in JSON */

struct text {
        struct cay_buf *out;
        int failed;
};

#define SAY(t, ...)                                                                                          \
        do {                                                                                                 \
                if ((t)->failed == 0)                                                                        \
                        (t)->failed = cay_buf_printf((t)->out, __VA_ARGS__);                                 \
        } while (0)

static void say_head(struct text *t, const char *name, const char *type, const char *help)
{
        SAY(t, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void say_one(struct text *t, const char *name, const char *type, const char *help, uint64_t value)
{
        say_head(t, name, type, help);
        SAY(t, "%s %" PRIu64 "\n", name, value);
}

static void say_seconds(struct text *t, const char *name, uint64_t us)
{
        SAY(t, "%s %" PRIu64 ".%06u\n", name, us / 1000000, (unsigned)(us % 1000000));
}

static void say_histogram(struct text *t, const char *name, const char *help, const struct cay_histogram *h)
{
        uint64_t sum = 0;

        say_head(t, name, "histogram", help);
        for (unsigned i = 0; i < CAY_METER_BUCKETS; i++) {
                unsigned ms = cay_histogram_bounds_ms[i];

                sum += h->buckets[i];
                SAY(t, "%s_bucket{le=\"%u.%03u\"} %" PRIu64 "\n", name, ms / 1000, ms % 1000, sum);
        }
        SAY(t, "%s_bucket{le=\"+Inf\"} %" PRIu64 "\n", name, h->count);
        SAY(t, "%s_sum %" PRIu64 ".%06u\n", name, h->sum_us / 1000000, (unsigned)(h->sum_us % 1000000));
        SAY(t, "%s_count %" PRIu64 "\n", name, h->count);
}

static void say_engines(struct text *t, const struct cay_service_health *h)
{
        say_head(t, "cay_engine_answers", "gauge", "Whether each engine that runs answers.");
        for (unsigned i = 0; i < h->engine_count; i++)
                SAY(t, "cay_engine_answers{engine=\"%s\"} %d\n", h->engines[i].name, h->engines[i].up);
        say_head(t, "cay_engine_sandboxes", "gauge", "Sandboxes that each engine has a box of.");
        for (unsigned i = 0; i < h->engine_count; i++)
                SAY(t, "cay_engine_sandboxes{engine=\"%s\"} %u\n", h->engines[i].name, h->engines[i].alive);
}

static void say_sandboxes(struct text *t, const struct cay_metrics *m)
{
        const struct cay_service_health *h = &m->health;

        say_head(t, "cay_sandboxes", "gauge", "Sandboxes by state.");
        for (unsigned i = 0; i < CAY_STATE_COUNT; i++)
                SAY(t, "cay_sandboxes{state=\"%s\"} %u\n", cay_state_word(i), h->by_state[i]);
        say_one(t, "cay_sandboxes_asleep", "gauge", "Paused sandboxes that the next request wakes.",
                h->asleep);
        say_one(t, "cay_snapshots", "gauge", "Snapshots.", h->snapshots.snapshots);
        say_one(t, "cay_steps", "gauge", "Steps of sandboxes.", h->snapshots.steps);
        say_one(t, "cay_snapshot_bytes", "gauge", "What snapshots and steps added to the disk's use.",
                h->snapshots.added_bytes);
        say_one(t, "cay_links_lost", "gauge", "Sandboxes that should live and do not answer.", h->links_lost);
        say_one(t, "cay_sandbox_creations_total", "counter", "Sandboxes asked for, starts included.",
                h->creates);
        say_one(t, "cay_sandbox_creation_failures_total", "counter", "Of them, those that came to nothing.",
                h->create_failures);
        say_histogram(t, "cay_sandbox_creation_seconds", "From being asked for to ready.",
                      &m->meter->create.all);
}

static void say_execs(struct text *t, const struct cay_metrics *m)
{
        say_one(t, "cay_execs_started_total", "counter", "Commands that were started.", m->health.execs);
        say_one(t, "cay_execs_running", "gauge", "Commands that run.", m->health.execs_running);
        say_head(t, "cay_execs_ended_total", "counter", "Commands that ended, by cause.");
        for (unsigned i = CAY_CAUSE_NONE + 1; i < CAY_CAUSE_COUNT; i++)
                SAY(t, "cay_execs_ended_total{cause=\"%s\"} %" PRIu64 "\n", cay_cause_word(i),
                    m->meter->exec_ends[i]);
        say_histogram(t, "cay_exec_start_seconds", "From being asked for to running.",
                      &m->meter->exec_start.all);
        say_histogram(t, "cay_exec_duration_seconds", "How long commands ran.", &m->meter->exec_run.all);
        say_head(t, "cay_exec_cpu_seconds_total", "counter", "Processor time of commands that ended.");
        say_seconds(t, "cay_exec_cpu_seconds_total", m->meter->exec_cpu_us);
}

static void say_used(struct text *t, const struct cay_metrics_used *u)
{
        say_one(t, "cay_measured_sandboxes", "gauge",
                "Live sandboxes of the caller in the next four figures.", u->sandboxes);
        say_one(t, "cay_sandbox_memory_bytes", "gauge", "Memory they use.", u->memory_bytes);
        say_one(t, "cay_sandbox_memory_limit_bytes", "gauge", "Memory they may use.", u->memory_limit_bytes);
        say_head(t, "cay_sandbox_cpu_seconds", "gauge", "Processor time they have used.");
        say_seconds(t, "cay_sandbox_cpu_seconds", u->cpu_us);
        say_one(t, "cay_sandbox_pids", "gauge", "Their processes.", u->pids);
}

/* The daemon's own figures, for admins only */
static void say_daemon(struct text *t, const struct cay_metrics *m)
{
        say_one(t, "cay_sandbox_creations_waiting", "gauge",
                "Sandboxes asked for that wait for their template's limit.", m->waiting);
        say_head(t, "cay_http_answers_total", "counter", "Answers to requests, by class of status.");
        for (unsigned i = 0; m->http_answers && i < CAY_COUNT(classes); i++)
                SAY(t, "cay_http_answers_total{class=\"%s\"} %" PRIu64 "\n", classes[i],
                    m->http_answers[i + 2]);
        say_one(t, "cay_adoptions_total", "counter", "Sandboxes taken over from an earlier process.",
                m->health.adoptions);
        say_one(t, "cay_network_allowed_total", "counter", "Connections of sandboxes that were allowed.",
                m->health.network.allowed);
        say_one(t, "cay_network_refused_total", "counter",
                "Connections and lookups of sandboxes that were refused.", m->health.network.refused);
        say_one(t, "cay_network_failed_total", "counter",
                "Connections of sandboxes that were allowed and failed.", m->health.network.failed);
        say_one(t, "cay_network_sent_bytes_total", "counter", "Bytes sent over connections that have ended.",
                m->health.network.up_bytes);
        say_one(t, "cay_network_received_bytes_total", "counter",
                "Bytes received over connections that have ended.", m->health.network.down_bytes);
        say_one(t, "cay_relinks_total", "counter", "Links to sandboxes that were re-established.",
                m->health.relinks);
        say_one(t, "cay_store_bytes", "gauge", "Size of the database.", m->health.store.file_bytes);
        say_one(t, "cay_store_queued", "gauge", "Commits that wait.", m->health.store.queued);
        say_one(t, "cay_start_time_seconds", "gauge", "When the daemon started, in seconds since 1970.",
                m->started_wall_ms / 1000);
}

int cay_metrics_put_text(const struct cay_metrics *m, struct cay_buf *out)
{
        struct text t = { .out = out };

        say_sandboxes(&t, m);
        say_execs(&t, m);
        say_used(&t, &m->used);
        say_one(&t, "cay_pool_ready", "gauge", "Boxes kept ready.", m->health.pool.ready);
        say_one(&t, "cay_pool_wanted", "gauge", "Boxes that are to be kept ready.", m->health.pool.wanted);
        say_one(&t, "cay_pool_memory_bytes", "gauge", "What boxes kept ready are counted as.",
                m->health.pool.bytes);
        say_one(&t, "cay_pool_claimed_total", "counter", "Creates that found a box made ahead.",
                m->health.pool.claimed);
        say_one(&t, "cay_pool_missed_total", "counter", "Creates that could have, and found none.",
                m->health.pool.missed);
        say_one(&t, "cay_engine_up", "gauge", "Whether the default engine answers.", m->health.engine_up);
        say_engines(&t, &m->health);
        if (m->is_whole)
                say_daemon(&t, m);
        say_head(&t, "cay_build_info", "gauge", "The daemon's version.");
        SAY(&t, "cay_build_info{version=\"%s\"} 1\n", CAY_VERSION);
        return t.failed;
}
