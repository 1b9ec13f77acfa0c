/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes the service; its health (service.h). */
#include "domain/sandboxes/service.h"

#include <errno.h>
#include <sys/random.h>

#include "foundation/base/clock.h"
#include "domain/sandboxes/service_priv.h"
#include "domain/sandboxes/snapshot_priv.h"

void cay_service_log_unstored(struct cay_service *s, const char *what, const char *id,
                              const struct cay_error *err)
{
        if (err->code != CAY_NO_SPACE) {
                cay_log_warn("record not stored, trying again", "%s=%s error=%s", what, id, err->msg);
                return;
        }
        if (!s->full_told)
                cay_log_error("the disk is full: nothing can be stored, and records wait", "%s=%s error=%s",
                              what, id, err->msg);
        s->full_told = true;
}

void *cay_service_alloc(size_t size)
{
        void *mem = calloc(1, size);

        if (mem == NULL) {
                cay_log_error("no memory");
                abort();
        }
        return mem;
}

uint64_t cay_service_now(const struct cay_service *s)
{
        return s->store->ops->now_ms(s->store);
}

uint64_t cay_service_wall(const struct cay_service *s)
{
        struct cay_clock_reading now;

        s->env.clock->read(s->env.clock, &now);
        return now.wall_ms;
}

int cay_service_make_id(const struct cay_service *s, char id[CAY_NAME_MAX + 1], struct cay_error *err)
{
        uint8_t random[15];

        if (getrandom(random, sizeof(random), 0) != (ssize_t)sizeof(random))
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make an id");
        cay_id_make(id, s->env.node, s->env.epoch, random);
        return 0;
}

void cay_service_fail_job(struct cay_service *s, struct cay_job *job, const struct cay_error *err)
{
        cay_job_finish(cay_loop_jobs(s->loop), job, err->code == CAY_OK ? NULL : err);
}

int cay_service_check_ready(const struct cay_service *s, struct cay_error *err)
{
        if (!s->ready)
                return cay_fail_because(err, CAY_UNAVAILABLE, CAY_REASON_RETRY,
                                        "the daemon is starting; try again in a moment");
        return 0;
}

int cay_service_open(const struct cay_service_env *env, void (*on_ready)(struct cay_service *s, void *ctx),
                     void *ctx, struct cay_service **ret, struct cay_error *err)
{
        struct cay_service *s = cay_service_alloc(sizeof(*s));

        s->env = *env;
        s->loop = env->loop;
        s->store = env->store;
        s->on_ready = on_ready;
        s->ready_ctx = ctx;
        if (s->env.max_alive == 0)
                s->env.max_alive = 10;
        if (s->env.max_known == 0)
                s->env.max_known = CAY_SERVICE_KNOWN_MAX;
        if (s->env.ping_ms == 0)
                s->env.ping_ms = 5000;
        if (s->env.ping_misses == 0)
                s->env.ping_misses = 3;
        if (cay_pool_init(&s->pool, s->env.pool_bytes) < 0)
                s->pool = (struct cay_pool){ 0 }; /* without one, all is as with none */
        cay_kill_point_arm();
        cay_engines_open(s);
        cay_snapshots_open(s);
        if (cay_adopt_begin(s, err) < 0) {
                cay_service_free(s);
                return -1;
        }
        *ret = s;
        return 0;
}

bool cay_service_is_ready(const struct cay_service *s)
{
        return s->ready;
}

/* Input that was taken is on its way to a box that only has to read it. */
static bool is_sending(const struct cay_sandbox *sb)
{
        return sb->client != NULL && cay_box_client_is_attached(sb->client) &&
               cay_sandbox_state(sb) != CAY_STATE_PAUSED && !cay_link_is_silent(sb) &&
               !cay_box_client_is_flushed(sb->client);
}

bool cay_service_is_settled(const struct cay_service *s)
{
        for (unsigned i = 0; i < s->count; i++) {
                const struct cay_sandbox *sb = s->sorted[i];

                if (cay_sandbox_pending(sb) == CAY_PENDING_CLEAN || sb->gone_timer.loop != NULL ||
                    is_sending(sb))
                        return false;
        }
        return true;
}

const struct cay_service_report *cay_service_report(const struct cay_service *s)
{
        return &s->report;
}

static void end_calls(struct cay_service *s, struct cay_sandbox *sb, const struct cay_error *err)
{
        cay_sandbox_answer(s, &sb->calls, err);
        cay_sandbox_answer(s, &sb->destroy_calls, err);
        for (struct cay_exec *x = sb->execs; x != NULL; x = x->next) {
                if (x->call != NULL)
                        cay_service_fail_job(s, &cay_take(x->call)->job, err);
                cay_exec_end_inputs(x, err);
                cay_exec_drop_watchers(x);
        }
}

void cay_service_free(struct cay_service *s)
{
        struct cay_error err = { 0 };

        if (s == NULL)
                return;
        cay_fail(&err, CAY_UNAVAILABLE, "the daemon is stopping");
        cay_engines_close(s);
        for (struct cay_async *e = s->async_ops; e != NULL; e = e->next)
                cay_sandbox_answer(s, &e->call, &err);
        while (s->count > 0) {
                struct cay_sandbox *sb = s->sorted[s->count - 1];

                end_calls(s, sb, &err);
                cay_sandbox_free(sb);
        }
        cay_snapshots_close(s, &err);
        cay_tick_stop(s);
        cay_pool_close(s);
        cay_network_close(s);
        cay_async_let_go_all(s);
        cay_event_drop_all(s);
        cay_claim_release_all(s);
        cay_left_free(s);
        cay_meters_done(&s->meters);
        free(s->sorted);
        free(s);
}

const struct cay_service_meter *cay_service_meter(const struct cay_service *s, const struct cay_viewer *v)
{
        return v->sees_all ? &s->meters.all : cay_meters_of(&s->meters, v->owner);
}

static void count_sandbox(const struct cay_sandbox *sb, struct cay_service_health *ret)
{
        ret->known++;
        ret->by_state[cay_sandbox_state(sb)]++;
        ret->alive += cay_state_has_box(cay_sandbox_state(sb));
        ret->links_lost += sb->has_box && (sb->link == CAY_LINK_LOST || cay_link_is_silent(sb));
        ret->asleep += cay_sandbox_state(sb) == CAY_STATE_PAUSED && sb->options.asleep;
        ret->execs_running += sb->running;
        ret->channels += sb->channel_count;
        for (const struct cay_exec *x = sb->execs; x != NULL; x = x->next)
                ret->watchers += x->watcher_count;
}

void cay_service_figures(struct cay_service *s, const struct cay_viewer *v, struct cay_service_health *ret)
{
        const struct cay_service_meter *meter = cay_service_meter(s, v);
        struct cay_store_health store = { 0 };

        *ret = (struct cay_service_health){ .ready = s->ready,
                                            .creates = meter->creates,
                                            .create_failures = meter->create_failures,
                                            .execs = meter->execs };
        cay_engines_health(s, v, ret);
        for (unsigned i = 0; i < s->count; i++)
                if (cay_table_may_see(v, s->sorted[i]))
                        count_sandbox(s->sorted[i], ret);
        cay_snapshot_count(s, v, &ret->snapshots);
        s->store->ops->health(s->store, &store);
        ret->store_full = store.is_full;
        cay_pool_figures(&s->pool, &ret->pool);
        ret->store_damaged = store.is_damaged;
        if (!v->sees_all)
                return;
        ret->adoptions = s->adoptions;
        ret->relinks = s->relinks;
        ret->files_unclaimed = s->left_count;
        ret->store = store;
        ret->network = s->network_totals;
}

void cay_service_health(struct cay_service *s, struct cay_service_health *ret)
{
        cay_service_figures(s, &(struct cay_viewer){ .owner = "", .sees_all = true }, ret);
}
