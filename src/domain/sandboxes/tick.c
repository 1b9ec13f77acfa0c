/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlines: a timer for each sandbox and its commands, and one for the engines and the store. A tick does
 * what is due in the store's time and sets its timer to the next deadline. The loop's clock and the store's
 * differ (a suspended machine, a clock in a test), so no timer is trusted for long: every MOST_MS all
 * sandboxes are checked.
 */
#include <string.h>

#include "foundation/base/clock.h"
#include "domain/sandboxes/service_priv.h"

#define MOST_MS 5000
#define PROBE_MS 1000
#define LEAST_MS 20
#define GRID_MS 250 /* far deadlines of thousands fall together */
#define GRID_FROM_MS 1000

static void check(struct cay_sandbox *sb, uint64_t now_ms, uint64_t mono_ms);
static void check_service(struct cay_service *s, uint64_t mono_ms);

static uint64_t bound(uint64_t in_ms)
{
        return in_ms > MOST_MS ? MOST_MS : in_ms < LEAST_MS ? LEAST_MS : in_ms;
}

static void on_tick(struct cay_timer *t)
{
        struct cay_service *s = cay_container_of(t, struct cay_service, tick_timer);

        s->tick_at_ms = 0;
        if (cay_clock_ms() >= s->walk_at_ms)
                cay_service_tick(s);
        else
                check_service(s, cay_clock_ms());
}

void cay_tick_by(struct cay_service *s, uint64_t in_ms)
{
        uint64_t at;

        in_ms = bound(in_ms);
        at = cay_clock_ms() + in_ms;
        if (s->tick_at_ms != 0 && s->tick_at_ms <= at)
                return;
        s->tick_at_ms = at;
        cay_timer_set(s->loop, &s->tick_timer, in_ms, on_tick);
}

void cay_tick_all(struct cay_service *s)
{
        s->walk_at_ms = 0;
        cay_tick_by(s, 0);
}

void cay_tick_stop(struct cay_service *s)
{
        cay_timer_clear(&s->tick_timer);
        s->tick_at_ms = 0;
}

static void on_sandbox_tick(struct cay_timer *t)
{
        struct cay_sandbox *sb = cay_container_of(t, struct cay_sandbox, tick_timer);

        sb->tick_at_ms = 0;
        if (cay_sandbox_pending(sb) != CAY_PENDING_ADOPT)
                check(sb, cay_service_now(sb->service), cay_clock_ms());
}

void cay_tick_sandbox(struct cay_sandbox *sb, uint64_t in_ms)
{
        uint64_t now = cay_clock_ms(), at;

        if (sb == NULL || !sb->listed)
                return;
        in_ms = bound(in_ms);
        at = now + in_ms;
        if (in_ms >= GRID_FROM_MS)
                at = (at + GRID_MS - 1) / GRID_MS * GRID_MS;
        if (sb->tick_at_ms != 0 && sb->tick_at_ms <= at)
                return;
        sb->tick_at_ms = at;
        cay_timer_set(sb->service->loop, &sb->tick_timer, at - now, on_sandbox_tick);
}

void cay_tick_forget(struct cay_sandbox *sb)
{
        cay_timer_clear(&sb->tick_timer);
        sb->tick_at_ms = 0;
}

static void due_at(struct cay_sandbox *sb, uint64_t at_ms, uint64_t now_ms)
{
        cay_tick_sandbox(sb, at_ms > now_ms ? at_ms - now_ms : 0);
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
                cay_tick_sandbox(x->sandbox, limit - idle);
        }
}

/* Time stands still for a paused sandbox: resume moves its deadlines (sandbox_change.c). */
static void check_exec(struct cay_service *s, struct cay_exec *x, uint64_t now_ms, uint64_t mono_ms)
{
        if (x->pending.len > 0) {
                cay_exec_flush_pending(x);
                cay_tick_sandbox(x->sandbox, 1000);
        }
        if (x->fresh && x->call == NULL && mono_ms >= x->fresh_until_ms) {
                x->fresh = false;
                cay_exec_release(x);
        } else if (x->fresh && x->call == NULL) {
                due_at(x->sandbox, x->fresh_until_ms, mono_ms);
        }
        if (x->awaited && (mono_ms >= x->awaited_until_ms || x->force_at_ms != 0)) {
                x->awaited = false;
                cay_exec_release(x);
        } else if (x->awaited) {
                due_at(x->sandbox, x->awaited_until_ms, mono_ms);
        }
        cay_exec_check_flush(x);
        if (cay_exec_is_ended(x) && x->spool.fd >= 0)
                cay_exec_close_spool(x);
        if (x->dirty && cay_exec_is_ended(x))
                cay_exec_store_again(x);
        if (!cay_exec_is_alive(x) || cay_sandbox_state(x->sandbox) == CAY_STATE_PAUSED)
                return;
        if (x->abandoned)
                cay_exec_kill_abandoned(x);
        if (x->deadline_ms > 0 && now_ms >= x->deadline_ms)
                kill_exec(x, CAY_KILLED_WALL_TIME, CAY_CAUSE_WALL_TIME, mono_ms);
        else if (x->deadline_ms > 0)
                due_at(x->sandbox, x->deadline_ms, now_ms);
        check_left(s, x, mono_ms);
        if (x->force_at_ms == 0)
                return;
        due_at(x->sandbox, x->force_at_ms, mono_ms);
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
        cay_exec_trim(sb);
}

/* Whether the sandbox is to end now. */
static const char *why_to_end(struct cay_sandbox *sb, uint64_t now_ms)
{
        if (sb->expires_ms > 0) {
                if (now_ms >= sb->expires_ms)
                        return "expired";
                due_at(sb, sb->expires_ms, now_ms);
        }
        if (cay_sandbox_counts_idle(sb)) {
                if (now_ms >= sb->used_ms + sb->idle_ms)
                        return "idle";
                due_at(sb, sb->used_ms + sb->idle_ms, now_ms);
        }
        return NULL;
}

/*
 * Its time to live is over, and it is to rest then (on_timeout): pauses or stops it. False: that cannot be
 * done.
 */
static bool rest(struct cay_sandbox *sb)
{
        const char *how = sb->options.on_timeout;
        enum cay_state state = cay_sandbox_state(sb);

        if (how == NULL || strcmp(how, "destroy") == 0)
                return false;
        if (state == CAY_STATE_PAUSED || state == CAY_STATE_STOPPED) {
                cay_sandbox_note_expiry(sb);
                cay_sandbox_store_again(sb);
                return true;
        }
        if (state != CAY_STATE_READY && state != CAY_STATE_BUSY)
                return false;
        cay_log_info("sandbox rests", "id=%s how=%s", sb->id, how);
        if (strcmp(how, "pause") == 0 && sb->engine->engine->ops->freeze != NULL)
                cay_sandbox_pause(sb);
        else
                cay_sandbox_stop(sb, NULL);
        return true;
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
        if (why != NULL && strcmp(why, "expired") == 0 && rest(sb))
                return;
        if (why != NULL) {
                cay_log_info("sandbox ends", "id=%s why=%s", sb->id, why);
                cay_sandbox_asked_by(sb, NULL);
                cay_sandbox_destroy(sb, why, NULL);
                return;
        }
        keep_used(sb, now_ms);
        cay_sandbox_check_sleep(sb, now_ms);
        if (sb->client == NULL || cay_sandbox_pending(sb) != CAY_PENDING_NONE)
                return;
        cay_link_ping(sb, mono_ms);
        cay_sandbox_refresh_figures(sb);
        if (sb->client != NULL)
                due_at(sb, sb->ping_at_ms, mono_ms);
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

static void check_service(struct cay_service *s, uint64_t mono_ms)
{
        cay_engine_ping(s, mono_ms);
        cay_snapshots_tick(s, cay_service_now(s));
        probe_store(s);
        cay_tick_by(s, s->walk_at_ms > mono_ms ? s->walk_at_ms - mono_ms : 0);
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
        s->walk_at_ms = mono_ms + MOST_MS;
        check_service(s, mono_ms);
}
