/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlines: one timer for all of them. Each tick goes through all objects and does what is due in the
 * store's time. It sets the next tick to the next deadline, at most a little later than now: the loop's clock
 * and the store's differ (a suspended machine, a clock in a test), so no timer is trusted for long.
 */
#include "foundation/base/clock.h"
#include "domain/sandboxes/service_priv.h"

#define MOST_MS 5000
#define PROBE_MS 1000
#define LEAST_MS 20
#define PING_GRID_MS 50

static void on_tick(struct cay_timer *t)
{
        struct cay_service *s = cay_container_of(t, struct cay_service, tick_timer);

        s->tick_at_ms = 0;
        cay_service_tick(s);
}

void cay_tick_by(struct cay_service *s, uint64_t in_ms)
{
        uint64_t at;

        if (in_ms > MOST_MS)
                in_ms = MOST_MS;
        if (in_ms < LEAST_MS)
                in_ms = LEAST_MS;
        at = cay_clock_ms() + in_ms;
        if (s->tick_at_ms != 0 && s->tick_at_ms <= at)
                return;
        s->tick_at_ms = at;
        cay_timer_set(s->loop, &s->tick_timer, in_ms, on_tick);
}

void cay_tick_stop(struct cay_service *s)
{
        cay_timer_clear(&s->tick_timer);
        s->tick_at_ms = 0;
}

static void due_at(struct cay_service *s, uint64_t at_ms, uint64_t now_ms)
{
        cay_tick_by(s, at_ms > now_ms ? at_ms - now_ms : 0);
}

static void kill_exec(struct cay_exec *x, enum cay_box_killed why, enum cay_cause as, uint64_t mono_ms)
{
        if (x->force_at_ms != 0)
                return;
        cay_box_channel_kill(&x->ch, why);
        x->force_as = as;
        x->force_at_ms = mono_ms + CAY_SERVICE_KILL_MS;
}

/*
 * A terminal that nobody has watched or used for so long is ended; it would keep its sandbox from being idle.
 */
static void check_left(struct cay_service *s, struct cay_exec *x, uint64_t mono_ms)
{
        uint64_t limit = s->env.terminal_idle_ms, idle;

        if (limit == 0 || !cay_exec_is_terminal(x) || x->watchers != NULL || x->force_at_ms != 0)
                return;
        idle = cay_exec_idle_ms(x);
        if (idle >= limit) {
                x->was_left = true;
                kill_exec(x, CAY_KILLED_ASKED, CAY_CAUSE_KILLED, mono_ms);
        } else {
                cay_tick_by(s, limit - idle);
        }
}

/* Time stands still for a paused sandbox: resume moves its deadlines (sandbox_change.c). */
static void check_exec(struct cay_service *s, struct cay_exec *x, uint64_t now_ms, uint64_t mono_ms)
{
        if (x->pending.len > 0) {
                cay_exec_flush_pending(x);
                cay_tick_by(s, 1000);
        }
        if (x->fresh && x->call == NULL && mono_ms >= x->fresh_until_ms) {
                x->fresh = false;
                cay_exec_release(x);
        } else if (x->fresh && x->call == NULL) {
                due_at(s, x->fresh_until_ms, mono_ms);
        }
        if (x->awaited && (mono_ms >= x->awaited_until_ms || x->force_at_ms != 0)) {
                x->awaited = false;
                cay_exec_release(x);
        } else if (x->awaited) {
                due_at(s, x->awaited_until_ms, mono_ms);
        }
        cay_exec_check_flush(x);
        if (x->dirty && cay_exec_is_ended(x))
                cay_exec_store_again(x);
        if (!cay_exec_is_alive(x) || cay_sandbox_state(x->sandbox) == CAY_STATE_PAUSED)
                return;
        if (x->abandoned)
                cay_exec_kill_abandoned(x);
        if (x->deadline_ms > 0 && now_ms >= x->deadline_ms)
                kill_exec(x, CAY_KILLED_WALL_TIME, CAY_CAUSE_WALL_TIME, mono_ms);
        else if (x->deadline_ms > 0)
                due_at(s, x->deadline_ms, now_ms);
        check_left(s, x, mono_ms);
        if (x->force_at_ms == 0)
                return;
        due_at(s, x->force_at_ms, mono_ms);
        /*
         * A command whose output waits for its reader has ended, and that is announced when the reader
         * continues.
         */
        if (mono_ms >= x->force_at_ms && !x->held)
                cay_exec_force_end(x);
}

static void check_execs(struct cay_sandbox *sb, uint64_t now_ms, uint64_t mono_ms)
{
        struct cay_exec *next;

        for (struct cay_exec *x = sb->execs; x != NULL; x = next) {
                next = x->next;
                check_exec(sb->service, x, now_ms, mono_ms);
        }
}

/* Whether the sandbox is to end now. */
static const char *why_to_end(struct cay_sandbox *sb, uint64_t now_ms)
{
        struct cay_service *s = sb->service;

        if (sb->expires_ms > 0) {
                if (now_ms >= sb->expires_ms)
                        return "expired";
                due_at(s, sb->expires_ms, now_ms);
        }
        if (cay_sandbox_counts_idle(sb)) {
                if (now_ms >= sb->used_ms + sb->idle_ms)
                        return "idle";
                due_at(s, sb->used_ms + sb->idle_ms, now_ms);
        }
        return NULL;
}

static void keep_used(struct cay_sandbox *sb, uint64_t now_ms)
{
        if (sb->channels != NULL || (sb->running > 0 && !cay_sandbox_is_idle(sb)))
                sb->used_ms = now_ms;
        if (sb->dirty ||
            (cay_sandbox_is_stored(sb) && sb->used_ms > sb->used_stored_ms + CAY_SERVICE_USED_MS))
                cay_sandbox_store_again(sb);
}

static void check(struct cay_sandbox *sb, uint64_t now_ms, uint64_t mono_ms)
{
        const char *why;

        check_execs(sb, now_ms, mono_ms);
        if (cay_sandbox_pending(sb) != CAY_PENDING_NONE)
                return;
        why = cay_sandbox_is_away(sb)
                      ? NULL
                      : why_to_end(sb, now_ms); /* its engine, which could end it, is missing */
        if (why != NULL) {
                cay_log_info("sandbox ends", "id=%s why=%s", sb->id, why);
                cay_sandbox_destroy(sb, why, NULL);
                return;
        }
        keep_used(sb, now_ms);
        if (sb->client == NULL)
                return;
        cay_link_ping(sb, mono_ms);
        cay_sandbox_refresh_figures(sb);
        if (sb->client != NULL) /* rounded: exact times of thousands would keep us awake */
                due_at(sb->service, sb->ping_at_ms + PING_GRID_MS, mono_ms);
}

static void on_probed(struct cay_async *e, const struct cay_error *err)
{
        e->service->probing = false;
        if (err->code != CAY_OK)
                return;
        e->service->full_told = false;
        cay_log_info("the state can be stored again");
}

/*
 * A full store reports that until something was stored. Clients that wait for readiness send nothing
 * meanwhile, so it is probed.
 */
static void probe_store(struct cay_service *s)
{
        struct cay_store_health h = { 0 };
        struct cay_store_batch *b;

        s->store->ops->health(s->store, &h);
        if (!h.is_full)
                return;
        cay_tick_by(s, PROBE_MS);
        if (s->probing)
                return;
        s->probing = true;
        b = s->store->ops->begin(s->store);
        cay_store_put_value(s->store, b, "probe", "");
        cay_async_commit(cay_async_new(s, NULL, NULL, on_probed), b);
}

void cay_service_tick(struct cay_service *s)
{
        uint64_t now_ms = cay_service_now(s), mono_ms = cay_clock_ms();

        /*
         * Nothing below removes a sandbox from the table at once: that comes from the loop, after a commit.
         */
        for (unsigned i = 0; i < s->count; i++)
                if (cay_sandbox_pending(s->sorted[i]) != CAY_PENDING_ADOPT)
                        check(s->sorted[i], now_ms, mono_ms);
        cay_engine_ping(s, mono_ms);
        probe_store(s);
        cay_tick_by(s, MOST_MS);
}
