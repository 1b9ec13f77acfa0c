/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics, as JSON and as Prometheus' text. What live sandboxes use is asked of the engine, of some at once
 * until all that the caller may see are measured. One that goes meanwhile, or whose engine has not answered
 * when the time is over, is left out: a machine of a user that never answers delays nobody's figures for
 * long. Nothing is asked of sandboxes beyond CAY_METRICS_MEASURED.
 */
#include <string.h>

#include "foundation/base/clock.h"
#include "foundation/base/str.h"
#include "domain/settings/config.h"
#include "domain/ops/metrics.h"
#include "domain/ops/template_use.h"
#include "foundation/loop/loop.h"

#define WAIT_MS 2000u
#define AT_ONCE 16u /* leaves room on the engine's link for other requests */
#define STATES_MEASURED ((1u << CAY_STATE_READY) | (1u << CAY_STATE_BUSY) | (1u << CAY_STATE_PAUSED))

struct gather {
        struct cay_op_call *call; /* NULL: answered; what is pending is waited for and not used */
        struct cay_timer late;
        struct cay_viewer viewer;
        struct cay_metrics_used used;
        unsigned count, asked, pending;
        struct one {
                struct cay_service_stats stats;
                struct gather *of;
                char id[CAY_NAME_MAX + 1];
                uint64_t memory_limit;
        } ones[CAY_METRICS_MEASURED];
};

static void answer_text(struct cay_op_call *c, const struct cay_metrics *m)
{
        cay_auto_buf struct cay_buf text = { 0 };
        struct cay_op_bytes what = { .type = CAY_METRICS_TYPE };

        cay_buf_init(&text, CAY_METRICS_TEXT_MAX);
        if (cay_metrics_put_text(m, &text) < 0) {
                cay_op_fail_memory(c);
                return;
        }
        what.length = text.len;
        if (cay_op_begin(c, &what) < 0 || cay_op_write(c, cay_buf_data(&text), text.len) < 0)
                cay_op_abort(c);
        else
                cay_op_end(c);
}

static void answer_json(struct cay_op_call *c, const struct cay_metrics *m)
{
        struct cay_op_result o;

        cay_op_result_begin(&o, c);
        cay_op_put_members(&o.j, &cay_result_metrics, m);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

extern const struct cay_op cay_op_metrics_text;

static void answer(struct gather *g)
{
        struct cay_op_call *c = g->call;
        const struct cay_op_world *w = c->world;
        struct cay_metrics m = { .is_whole = g->viewer.sees_all,
                                 .meter = cay_service_meter(w->service, &g->viewer),
                                 .used = g->used,
                                 .waiting = w->templates ? w->templates->admission.waiting : 0,
                                 .started_wall_ms = w->started_wall_ms,
                                 .now_ms = cay_clock_ms(),
                                 .http_answers = w->http_answers };

        cay_service_figures(w->service, &g->viewer, &m.health);
        cay_timer_clear(&g->late);
        g->call = NULL;
        if (g->pending == 0)
                free(g);
        if (c->op == &cay_op_metrics_text)
                answer_text(c, &m);
        else
                answer_json(c, &m);
}

static void on_late(struct cay_timer *t)
{
        answer(cay_container_of(t, struct gather, late));
}

static void measure_next(struct gather *g);

static void on_measured(struct cay_job *job)
{
        struct one *one = cay_container_of(job, struct one, stats.call.job);
        struct gather *g = one->of;

        g->pending--;
        if (!g->call) {
                if (g->pending == 0)
                        free(g);
                return;
        }
        if (job->err.code == CAY_OK) {
                g->used.sandboxes++;
                g->used.memory_bytes += one->stats.stats.memory_bytes;
                g->used.memory_limit_bytes += one->memory_limit;
                g->used.cpu_us += one->stats.stats.cpu_us;
                g->used.pids += one->stats.stats.pids;
        }
        if (g->asked < g->count)
                measure_next(g);
        else if (g->pending == 0)
                answer(g);
}

static void measure_next(struct gather *g)
{
        struct one *one = &g->ones[g->asked++];

        g->pending++;
        cay_job_init(&one->stats.call.job, on_measured);
        cay_service_stats(g->call->world->service, &g->viewer, one->id, &one->stats);
}

static void note(void *ctx, const struct cay_sandbox_view *view)
{
        struct gather *g = ctx;
        struct one *one = &g->ones[g->count];

        if (g->count == CAY_METRICS_MEASURED)
                return;
        one->of = g;
        one->memory_limit = view->limits->memory_bytes;
        cay_str_copy(one->id, sizeof(one->id), view->id);
        g->count++;
}

/*
 * A scraper needs no rights over sandboxes: a reader that is the configured owner gets the sums of all, and
 * nothing else.
 */
static struct cay_viewer find_viewer(const struct cay_op_call *c)
{
        struct cay_viewer viewer = cay_op_viewer(c);
        const char *scraper = c->world->config->metrics_owner;

        if (scraper[0] && strcmp(scraper, viewer.owner) == 0)
                viewer.sees_all = true;
        return viewer;
}

static void run_metrics(struct cay_op_call *c)
{
        const struct cay_sandbox_filter alive = { .states = STATES_MEASURED };
        struct gather *g = calloc(1, sizeof(*g));
        char next[CAY_SERVICE_CURSOR_MAX];
        struct cay_error err = { 0 };

        if (!g) {
                cay_op_fail_memory(c);
                return;
        }
        g->call = c;
        g->viewer = find_viewer(c);
        if (cay_service_list(c->world->service, &g->viewer, &alive, NULL, CAY_METRICS_MEASURED, note, g, next,
                             &err) < 0) {
                free(g);
                cay_op_fail(c, &err, NULL);
                return;
        }
        if (g->count == 0 || cay_timer_set(c->world->loop, &g->late, WAIT_MS, on_late) < 0)
                answer(g);
        else
                for (unsigned n = g->count < AT_ONCE ? g->count : AT_ONCE; n > 0; n--)
                        measure_next(g);
}

const struct cay_op cay_op_metrics_get = {
        .name = "metrics_get",
        .route = "GET /api/metrics",
        .doc = "What was made and run since the start, how long it took (p50 and p99 of the last hour), how "
               "it ended, and what live sandboxes use: one's own, and everybody's for admin and the setting "
               "metrics_owner's",
        .scope = CAY_SCOPE_READ,
        .result = &cay_result_metrics,
        .run = run_metrics,
};

const struct cay_op cay_op_metrics_text = {
        .name = "metrics_text",
        .route = "GET /metrics",
        .doc = "The same as text that Prometheus reads",
        .scope = CAY_SCOPE_READ,
        .bytes = "text/plain",
        .run = run_metrics,
};
