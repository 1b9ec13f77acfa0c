/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pause and resume (done first, then stored: both can be undone), extend, figures.
 *
 * Time limits of commands stand still while their sandbox is paused. The record says since when, and resume
 * moves the deadlines by that time, in memory and in the same commit. The sandbox's own lifetime runs on.
 */
#include "foundation/base/clock.h"
#include "foundation/base/str.h"
#include "domain/sandboxes/service_priv.h"

#define DEADLINES_ROOM (512u * 1024) /* of execs in one batch */

static void fail_call(struct cay_service *s, struct cay_service_call *c, const struct cay_error *err)
{
        c->next = NULL;
        cay_service_fail_job(s, &c->job, err);
}

/* Sets the freezer as the store says; the result is only logged. */
static void on_put_back(struct cay_async *e, const struct cay_error *err)
{
        if (err->code != CAY_OK)
                cay_log_warn("box left as it is, ignoring", "id=%s error=%s", e->box.id, err->msg);
        if (e->sandbox == NULL)
                return;
        cay_sandbox_move(e->sandbox, CAY_SANDBOX_EVENT_UNDO);
        cay_sandbox_finish(e->sandbox, &e->sandbox->why);
}

static void shift_deadlines(struct cay_sandbox *sb, int64_t by_ms)
{
        for (struct cay_exec *x = sb->execs; x != NULL; x = x->next) {
                if (cay_exec_is_ended(x))
                        continue;
                if (x->deadline_ms > 0)
                        x->deadline_ms = (uint64_t)((int64_t)x->deadline_ms + by_ms);
                if (x->used_ms > 0)
                        x->used_ms = (uint64_t)((int64_t)x->used_ms + by_ms);
                if (x->force_at_ms > 0)
                        x->force_at_ms = (uint64_t)((int64_t)x->force_at_ms + by_ms);
        }
}

static void put_back(struct cay_sandbox *sb, const struct cay_error *why)
{
        struct cay_async *e = cay_async_new(sb->service, sb, NULL, on_put_back);
        struct cay_job *job;
        struct cay_engine *engine = cay_async_ask(e, CAY_SERVICE_ENGINE_MS, &job);

        sb->why = *why;
        if (cay_sandbox_pending(sb) == CAY_PENDING_PAUSE) {
                sb->paused_ms = 0;
                sb->options.asleep = false;
                if (engine != NULL)
                        engine->ops->thaw(engine, &e->box, job);
        } else {
                sb->paused_ms = sb->was_paused_ms;
                sb->options.asleep = sb->was_asleep;
                shift_deadlines(sb, -(int64_t)sb->stood_ms);
                if (engine != NULL)
                        engine->ops->freeze(engine, &e->box, job);
        }
}

static void on_frozen_stored(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;

        if (sb == NULL)
                return;
        if (err->code != CAY_OK) {
                put_back(sb, err);
                return;
        }
        cay_sandbox_move(sb, CAY_SANDBOX_EVENT_DONE);
        cay_sandbox_finish(sb, NULL);
}

void cay_sandbox_greeted(struct cay_sandbox *sb)
{
        if (sb->phase != CAY_SANDBOX_PHASE_GREETING)
                return;
        cay_timer_clear(&sb->adopt_timer);
        cay_sandbox_move(sb, CAY_SANDBOX_EVENT_DONE);
        cay_sandbox_finish(sb, NULL);
}

static void on_no_greeting(struct cay_timer *t)
{
        cay_sandbox_greeted(cay_container_of(t, struct cay_sandbox, adopt_timer));
}

static void on_thawed_stored(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;
        bool is_silent;

        if (sb == NULL)
                return;
        if (err->code != CAY_OK) {
                put_back(sb, err);
                return;
        }
        /* If adopted while paused, it could not greet us yet: it is unusable until it does. */
        is_silent = sb->client != NULL && cay_box_client_awaits_welcome(sb->client);
        cay_sandbox_move(sb, is_silent ? CAY_SANDBOX_EVENT_THAW : CAY_SANDBOX_EVENT_DONE);
        cay_link_resumed(sb);
        cay_tick_sandbox(sb, 0);
        if (is_silent)
                cay_timer_set(sb->service->loop, &sb->adopt_timer, CAY_SERVICE_WELCOME_MS, on_no_greeting);
        else
                cay_sandbox_finish(sb, NULL);
}

/* As many as fit; the rest is stored separately a moment later. */
static void put_deadlines(struct cay_sandbox *sb, struct cay_store_batch *b)
{
        size_t used = 0;

        for (struct cay_exec *x = sb->execs; x != NULL; x = x->next) {
                if (x->deadline_ms == 0 || !cay_exec_is_stored(x) || cay_exec_is_judged(x) ||
                    cay_exec_is_ended(x))
                        continue;
                used += cay_record_exec_size(x);
                if (used <= DEADLINES_ROOM)
                        cay_record_put_exec(x, b);
                else
                        cay_exec_store_again(x);
        }
}

/* The times that the next commit stores. */
static void note_time(struct cay_sandbox *sb, struct cay_store_batch *b, bool pause)
{
        uint64_t now_ms = cay_service_now(sb->service);

        if (pause) {
                sb->paused_ms = now_ms;
                cay_sandbox_note_expiry(sb);
                return;
        }
        sb->stood_ms = sb->paused_ms > 0 && now_ms > sb->paused_ms ? now_ms - sb->paused_ms : 0;
        sb->was_paused_ms = sb->paused_ms;
        sb->paused_ms = 0;
        shift_deadlines(sb, (int64_t)sb->stood_ms);
        put_deadlines(sb, b);
}

/* It is frozen, or thawed: that is stored. */
static void store_change(struct cay_sandbox *sb, bool pause)
{
        struct cay_service *s = sb->service;
        struct cay_store_batch *b;
        struct cay_async *next;
        char freed[24] = "";

        if (pause)
                snprintf(freed, sizeof(freed), "%llu", (unsigned long long)sb->reclaimed_bytes);
        sb->was_asleep = sb->options.asleep;
        if (!pause)
                sb->options.asleep = false;
        next = cay_async_new(s, sb, NULL, pause ? on_frozen_stored : on_thawed_stored);
        b = s->store->ops->begin(s->store);
        note_time(sb, b, pause);
        cay_record_put_sandbox(sb, b,
                               pause             ? CAY_STATE_PAUSED
                               : sb->running > 0 ? CAY_STATE_BUSY
                                                 : CAY_STATE_READY);
        cay_event_put(next, b, sb, pause ? CAY_EVENT_PAUSED : CAY_EVENT_RESUMED, "memory_freed_bytes", freed,
                      "asleep", pause && sb->options.asleep ? "true" : "", NULL);
        cay_async_commit(next, b);
}

/* What could not be given back stays where it is: the pause is as good without. */
static void on_reclaimed(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;

        if (sb == NULL)
                return;
        sb->reclaimed_bytes = err->code == CAY_OK ? e->box.reclaimed_bytes : 0;
        if (cay_sandbox_pending(sb) == CAY_PENDING_PAUSE)
                store_change(sb, true);
}

static void reclaim(struct cay_sandbox *sb)
{
        struct cay_async *e = cay_async_new(sb->service, sb, NULL, on_reclaimed);
        struct cay_job *job;
        struct cay_engine *engine = cay_async_ask(e, CAY_SERVICE_RECLAIM_MS, &job);

        if (engine != NULL)
                engine->ops->reclaim(engine, &e->box, job);
}

static void on_frozen(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;
        bool pause = sb != NULL && cay_sandbox_pending(sb) == CAY_PENDING_PAUSE;

        if (sb == NULL)
                return;
        if (err->code != CAY_OK) {
                if (pause)
                        sb->options.asleep = false;
                cay_sandbox_move(sb, CAY_SANDBOX_EVENT_UNDO);
                cay_sandbox_finish(sb, err);
                return;
        }
        cay_kill_point_reached(pause ? CAY_KILL_POINT_pause_frozen : CAY_KILL_POINT_resume_thawed);
        sb->reclaimed_bytes = 0;
        if (pause && sb->engine->engine != NULL && sb->engine->engine->ops->reclaim != NULL)
                reclaim(sb);
        else
                store_change(sb, pause);
}

static void ask_freezer(struct cay_sandbox *sb, enum cay_sandbox_event event, struct cay_service_call *c)
{
        struct cay_async *e;
        struct cay_engine *engine;
        struct cay_job *job;

        cay_sandbox_begin(sb, event, c);
        if (event != CAY_SANDBOX_EVENT_PAUSE || !sb->options.asleep) /* who falls asleep is not used */
                cay_sandbox_use(sb);
        e = cay_async_new(sb->service, sb, NULL, on_frozen);
        engine = cay_async_ask(e, CAY_SERVICE_ENGINE_MS, &job);
        if (engine != NULL && event == CAY_SANDBOX_EVENT_PAUSE)
                engine->ops->freeze(engine, &e->box, job);
        else if (engine != NULL)
                engine->ops->thaw(engine, &e->box, job);
}

void cay_sandbox_pause(struct cay_sandbox *sb)
{
        ask_freezer(sb, CAY_SANDBOX_EVENT_PAUSE, NULL);
}

void cay_sandbox_resume(struct cay_sandbox *sb, struct cay_service_call *c)
{
        ask_freezer(sb, CAY_SANDBOX_EVENT_RESUME, c);
}

void cay_sandbox_note_expiry(struct cay_sandbox *sb)
{
        if (sb->options.on_timeout != NULL && sb->expires_ms > 0 &&
            cay_service_now(sb->service) >= sb->expires_ms)
                sb->expires_ms = 0;
}

void cay_service_pause(struct cay_service *s, const struct cay_viewer *v, const char *id,
                       struct cay_service_call *c)
{
        struct cay_error err = { 0 };
        struct cay_sandbox *sb = cay_table_get(s, v, id, &err);

        if (sb == NULL || cay_sandbox_check_usable(sb, &err) < 0 || cay_sandbox_check_still(sb, &err) < 0) {
                fail_call(s, c, &err);
                return;
        }
        if (sb->engine->engine->ops->freeze == NULL) {
                cay_fail(&err, CAY_UNSUPPORTED, "the %s engine cannot pause sandboxes", sb->engine->name);
                fail_call(s, c, &err);
                return;
        }
        cay_sandbox_asked_by(sb, v);
        sb->options.asleep = false;
        ask_freezer(sb, CAY_SANDBOX_EVENT_PAUSE, c);
}

void cay_service_resume(struct cay_service *s, const struct cay_viewer *v, const char *id,
                        struct cay_service_call *c)
{
        struct cay_error err = { 0 };
        struct cay_sandbox *sb = cay_table_get(s, v, id, &err);

        if (sb != NULL && cay_sandbox_check_engine(sb, &err) == 0 && cay_sandbox_check_still(sb, &err) == 0 &&
            cay_sandbox_state(sb) != CAY_STATE_PAUSED)
                cay_fail(&err, CAY_CONFLICT, "sandbox '%s' is not paused (%s)", sb->id,
                         cay_state_word(cay_sandbox_state(sb)));
        if (err.code != CAY_OK) {
                fail_call(s, c, &err);
                return;
        }
        cay_sandbox_asked_by(sb, v);
        ask_freezer(sb, CAY_SANDBOX_EVENT_RESUME, c);
}

/* extend */

static void on_extended(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;
        struct cay_service_call *c = cay_take(e->call);

        if (sb != NULL && err->code != CAY_OK) {
                sb->expires_ms = e->old_expires_ms;
                sb->idle_ms = e->old_idle_ms;
        }
        if (sb != NULL)
                cay_tick_sandbox(sb, 0);
        if (c != NULL)
                cay_service_fail_job(e->service, &c->job, err);
}

void cay_service_extend(struct cay_service *s, const struct cay_viewer *v, const char *id,
                        const struct cay_service_life *life, struct cay_service_call *c)
{
        struct cay_error err = { 0 };
        struct cay_sandbox *sb = cay_table_get(s, v, id, &err);
        struct cay_store_batch *b;
        struct cay_async *e;
        char timeout_text[24], idle_text[24];

        if (sb != NULL && !life->set_timeout && !life->set_idle)
                cay_fail(&err, CAY_INVALID, "timeout: give a lifetime, an idle limit, or both");
        if (sb != NULL && cay_sandbox_pending(sb) != CAY_PENDING_PAUSE &&
            cay_sandbox_pending(sb) != CAY_PENDING_RESUME)
                cay_sandbox_check_free(sb, &err);
        if (err.code != CAY_OK) {
                fail_call(s, c, &err);
                return;
        }
        c->next = NULL;
        cay_str_copy(c->id, sizeof(c->id), sb->id);
        e = cay_async_new(s, sb, NULL, on_extended);
        e->call = c;
        e->old_expires_ms = sb->expires_ms;
        e->old_idle_ms = sb->idle_ms;
        cay_sandbox_asked_by(sb, v);
        cay_sandbox_use(sb);
        if (life->set_timeout)
                sb->expires_ms = life->timeout_ms > 0 ? cay_service_now(s) + life->timeout_ms : 0;
        if (life->set_idle)
                sb->idle_ms = life->idle_ms;
        b = s->store->ops->begin(s->store);
        cay_record_put_sandbox(sb, b, cay_sandbox_state(sb));
        snprintf(timeout_text, sizeof(timeout_text), "%llu", (unsigned long long)life->timeout_ms);
        snprintf(idle_text, sizeof(idle_text), "%llu", (unsigned long long)sb->idle_ms);
        if (life->set_timeout)
                cay_event_put(e, b, sb, CAY_EVENT_EXTENDED, "timeout_ms", timeout_text, "idle_ms", idle_text,
                              NULL);
        else
                cay_event_put(e, b, sb, CAY_EVENT_EXTENDED, "idle_ms", idle_text, NULL);
        cay_async_commit(e, b);
}

/* Figures */

void cay_sandbox_note_figures(struct cay_sandbox *sb, const struct cay_engine_stats *stats)
{
        sb->oom_seen = stats->oom_kills;
        sb->pids_seen = stats->pids_refused;
        if (!sb->figures_unknown)
                return;
        sb->figures_unknown = false;
        for (struct cay_exec *x = sb->execs; x != NULL; x = x->next) {
                x->oom_before = sb->oom_seen;
                x->pids_before = sb->pids_seen;
        }
}

static void answer_figures(struct cay_async *e, const struct cay_error *err)
{
        while (e->call != NULL) {
                struct cay_service_stats *c = cay_container_of(e->call, struct cay_service_stats, call);

                e->call = c->call.next;
                c->call.next = NULL;
                c->stats = e->box.stats;
                cay_service_fail_job(e->service, &c->call.job, err);
        }
}

static bool has_room_for_history(const struct cay_sandbox *sb)
{
        const struct cay_service *s = sb->service;
        unsigned all = 0, own = 0;

        for (unsigned i = 0; i < s->count; i++) {
                if (s->sorted[i]->history == NULL)
                        continue;
                all++;
                own += strcmp(s->sorted[i]->owner, sb->owner) == 0;
        }
        return all < CAY_HISTORY_MAX && own < CAY_HISTORY_OWNER_MAX;
}

static bool is_history_due(struct cay_sandbox *sb, uint64_t mono_ms)
{
        if (sb->no_history || cay_sandbox_state(sb) == CAY_STATE_PAUSED)
                return false;
        if (sb->history_at_ms == 0)
                sb->history_at_ms = mono_ms + CAY_HISTORY_STEP_MS;
        return mono_ms >= sb->history_at_ms;
}

/* A sandbox without room for a history is not considered again: the loop above runs once for each. */
static void note_history(struct cay_sandbox *sb, const struct cay_engine_stats *stats)
{
        uint64_t mono_ms = cay_clock_ms();

        if (!is_history_due(sb, mono_ms))
                return;
        if (sb->history == NULL)
                sb->history = has_room_for_history(sb) ? calloc(1, sizeof(*sb->history)) : NULL;
        sb->no_history = sb->history == NULL;
        if (sb->no_history)
                return;
        cay_history_add(sb->history, mono_ms, cay_service_wall(sb->service), stats);
        sb->history_at_ms = mono_ms + (sb->running > 0 ? CAY_HISTORY_STEP_MS : CAY_HISTORY_IDLE_MS);
}

const struct cay_history *cay_service_history(struct cay_service *s, const struct cay_viewer *v,
                                              const char *id)
{
        struct cay_error err = { 0 };
        const struct cay_sandbox *sb = cay_table_get(s, v, id, &err);

        return sb != NULL ? sb->history : NULL;
}

static void on_figures(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;

        if (sb != NULL && sb->figures == e)
                sb->figures = NULL;
        if (sb != NULL && err->code == CAY_OK) {
                cay_sandbox_note_figures(sb, &e->box.stats);
                note_history(sb, &e->box.stats);
        }
        answer_figures(e, err);
}

/*
 * An engine may need a second for this: requests that come meanwhile (c; NULL: our own) wait for the same
 * answer.
 */
static void ask_figures(struct cay_sandbox *sb, struct cay_service_stats *c)
{
        bool is_asked = sb->figures != NULL;
        struct cay_engine *engine;
        struct cay_job *job;

        if (!is_asked)
                sb->figures = cay_async_new(sb->service, sb, NULL, on_figures);
        if (c != NULL) {
                c->call.next = sb->figures->call;
                sb->figures->call = &c->call;
        }
        if (is_asked)
                return;
        sb->figures_old = false;
        engine = cay_async_ask(sb->figures, CAY_SERVICE_ENGINE_MS, &job);
        if (engine != NULL)
                engine->ops->stats(engine, &sb->figures->box, job);
}

void cay_sandbox_let_figures_go(struct cay_sandbox *sb)
{
        struct cay_async *e = cay_take(sb->figures);
        struct cay_error err = { 0 };

        if (e == NULL)
                return;
        cay_sandbox_check_free(sb, &err);
        answer_figures(e, &err);
}

void cay_sandbox_refresh_figures(struct cay_sandbox *sb)
{
        if (!sb->has_box || cay_sandbox_pending(sb) != CAY_PENDING_NONE || sb->figures != NULL)
                return;
        if (sb->figures_unknown || (sb->figures_old && sb->running == 0) ||
            is_history_due(sb, cay_clock_ms()))
                ask_figures(sb, NULL);
}

void cay_service_stats(struct cay_service *s, const struct cay_viewer *v, const char *id,
                       struct cay_service_stats *c)
{
        struct cay_error err = { 0 };
        struct cay_sandbox *sb = cay_table_get(s, v, id, &err);

        if (sb != NULL && (!sb->has_box || cay_sandbox_state(sb) == CAY_STATE_CREATING ||
                           cay_sandbox_state(sb) == CAY_STATE_STOPPED))
                cay_fail(&err, CAY_CONFLICT, "sandbox '%s' is not running (%s)", sb->id,
                         cay_state_word(cay_sandbox_state(sb)));
        else if (sb != NULL && cay_sandbox_is_ending(sb))
                cay_sandbox_check_free(sb, &err);
        if (err.code != CAY_OK) {
                fail_call(s, &c->call, &err);
                return;
        }
        cay_str_copy(c->call.id, sizeof(c->call.id), sb->id);
        ask_figures(sb, c);
}
