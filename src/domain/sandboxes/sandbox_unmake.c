/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stop, destroy, clean-up, and boxes that go by themselves.
 *
 * Theory of operation. What was asked for is stored first and done then: a process that dies in between
 * leaves a box whose record says STOPPED, or that has no record, and the next start removes it. A commit that
 * fails has changed nothing. An engine that fails afterwards leaves the sandbox in ERROR, to be destroyed
 * again. The event of a stop is stored when the box is gone; a record that lacks it says so (stopping), and
 * the next start stores it when it has removed the box.
 *
 * A box that went by itself is the other way round: the engine takes away what is left of it (and says
 * whether memory was the reason), then its commands are judged, then all of that is stored.
 */
#include "foundation/base/clock.h"
#include "foundation/base/str.h"
#include "domain/sandboxes/service_priv.h"

#define STOPPED_TEXT "stopped on request"
#define DAMAGED_TEXT                                                                                         \
        "writes to the host's disk failed, so its files are not what was written: kept for the "             \
        "administrator as "                                                                                  \
        "layers/%s.damaged"
#define BATCH_ROOM (512u * 1024) /* for execs in a batch; the rest is stored separately */

static void end_execs(struct cay_sandbox *sb, enum cay_cause as, const char *text)
{
        struct cay_exec *next;

        for (struct cay_exec *x = sb->execs; x != NULL; x = next) {
                next = x->next;
                cay_exec_end_without(x, as, text);
        }
}

static void note_ended(struct cay_sandbox *sb)
{
        struct cay_exec *next;

        for (struct cay_exec *x = sb->execs; x != NULL; x = next) {
                next = x->next;
                if (cay_exec_is_judged(x))
                        cay_exec_tell(x);
        }
}

/* The records of commands that end with their sandbox, as many as fit; the rest is stored later. */
static void put_execs(struct cay_async *e, struct cay_store_batch *b, struct cay_sandbox *sb)
{
        size_t used = 0;

        for (struct cay_exec *x = sb->execs; x != NULL; x = x->next) {
                if (!cay_exec_is_due(x))
                        continue;
                used += cay_record_exec_size(x);
                x->dirty = used > BATCH_ROOM;
                if (!x->dirty)
                        cay_exec_put_ended(e, b, x);
        }
}

static void note_execs(struct cay_sandbox *sb, const struct cay_error *err)
{
        for (struct cay_exec *x = sb->execs; x != NULL; x = x->next) {
                if (!cay_exec_is_judged(x) || err->code == CAY_OK)
                        continue;
                x->dirty = true;
                cay_exec_note_untold(x);
        }
        note_ended(sb);
}

static void on_execs_stored(struct cay_async *e, const struct cay_error *err)
{
        if (e->sandbox != NULL)
                note_execs(e->sandbox, err);
}

/* stop */

static void on_stop_told(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;

        if (sb == NULL)
                return;
        if (err->code != CAY_OK) /* STOPPED is stored: only the journal lacks it, until the next start */
                cay_service_log_unstored(e->service, "sandbox", sb->id, err);
        if (cay_sandbox_pending(sb) != CAY_PENDING_STOP)
                return; /* one that an earlier process began */
        cay_sandbox_move(sb, CAY_SANDBOX_EVENT_DONE);
        cay_sandbox_finish(sb, NULL);
}

/* Its box is gone: now the event is true. */
static void tell_stopped(struct cay_sandbox *sb)
{
        struct cay_service *s = sb->service;
        struct cay_async *e = cay_async_new(s, sb, NULL, on_stop_told);
        struct cay_store_batch *b = s->store->ops->begin(s->store);

        sb->stopping = false;
        cay_record_put_sandbox(sb, b, CAY_STATE_STOPPED);
        cay_event_put(e, b, sb, CAY_EVENT_STOPPED, "why", "asked", "kept", sb->kept ? "true" : "false", NULL);
        cay_async_commit(e, b);
}

void cay_sandbox_tell_stopped(struct cay_sandbox *sb)
{
        if (sb->stopping && sb->phase == CAY_SANDBOX_PHASE_STOPPED)
                tell_stopped(sb);
}

static void on_stopped(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;

        if (sb == NULL)
                return;
        cay_kill_point_reached(CAY_KILL_POINT_stop_done);
        sb->has_box = err->code != CAY_OK && err->code != CAY_DAMAGED;
        if (err->code != CAY_OK) {
                struct cay_error why = *err;

                sb->stopping = false;
                /*
                 * Its processes are gone, but its files may not be intact: the cause says so until it runs
                 * again.
                 */
                cay_wrap(&why,
                         err->code == CAY_DAMAGED ? "sandbox '%s' is stopped"
                                                  : "sandbox '%s' could not be stopped wholly",
                         sb->id);
                cay_sandbox_fail(sb, err->code == CAY_DAMAGED ? CAY_CAUSE_DISK : CAY_CAUSE_ENGINE_LOST,
                                 why.msg);
                cay_sandbox_finish(sb, &why);
                return;
        }
        if (e->box.damaged) {
                struct cay_error why = { 0 };

                sb->stopping = false;
                cay_fail(&why, CAY_CONFLICT, DAMAGED_TEXT, sb->id);
                cay_sandbox_fail(sb, CAY_CAUSE_DISK, why.msg);
                cay_sandbox_finish(sb, &why);
                return;
        }
        tell_stopped(sb);
}

/* A process that dies before this is stored finds STOPPED, which means the same. */
static void store_execs(struct cay_sandbox *sb)
{
        struct cay_service *s = sb->service;
        struct cay_async *e = cay_async_new(s, sb, NULL, on_execs_stored);
        struct cay_store_batch *b = s->store->ops->begin(s->store);

        put_execs(e, b, sb);
        cay_async_commit(e, b);
}

static void on_stop_stored(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;
        struct cay_service *s = e->service;
        struct cay_error why = { 0 };
        struct cay_async *next;

        if (sb == NULL)
                return;
        if (err->code != CAY_OK) {
                sb->stopping = false;
                cay_sandbox_move(sb, CAY_SANDBOX_EVENT_UNDO);
                cay_sandbox_finish(sb, err);
                return;
        }
        cay_kill_point_reached(CAY_KILL_POINT_stop_stored);
        cay_sandbox_move(sb, CAY_SANDBOX_EVENT_STORE);
        cay_sandbox_set_cause(sb, CAY_CAUSE_KILLED, STOPPED_TEXT);
        end_execs(sb, CAY_CAUSE_KILLED, "the sandbox was stopped");
        store_execs(sb);
        cay_fail(&why, CAY_CONFLICT, "sandbox '%s' was stopped", sb->id);
        cay_sandbox_empty(sb, &why);
        next = cay_async_new(s, sb, NULL, on_stopped);
        if (sb->has_box) {
                cay_async_unmake(next, sb->kept, CAY_SERVICE_UNMAKE_MS);
        } else {
                next->local = true;
                cay_job_finish(cay_loop_jobs(s->loop), cay_async_engine(next, CAY_SERVICE_UNMAKE_MS), NULL);
        }
}

/* The sandbox is, or is becoming, what was requested: returns true; c is answered, now or with the others. */
static bool is_stopped(struct cay_sandbox *sb, struct cay_service_call *c)
{
        static const struct cay_error fine = { 0 };
        bool rests =
                cay_sandbox_state(sb) == CAY_STATE_STOPPED && cay_sandbox_pending(sb) == CAY_PENDING_NONE;

        if (!rests && cay_sandbox_pending(sb) != CAY_PENDING_STOP)
                return false;
        cay_str_copy(c->id, sizeof(c->id), sb->id);
        if (rests) {
                cay_service_fail_job(sb->service, &c->job, &fine);
                return true;
        }
        c->next = sb->calls;
        sb->calls = c;
        return true;
}

void cay_sandbox_stop(struct cay_sandbox *sb, struct cay_service_call *c)
{
        struct cay_service *s = sb->service;
        struct cay_store_batch *b;
        struct cay_async *e;

        cay_kill_point_reached(CAY_KILL_POINT_stop_asked);
        cay_sandbox_begin(sb, CAY_SANDBOX_EVENT_STOP, c);
        cay_sandbox_note_expiry(sb);
        e = cay_async_new(s, sb, NULL, on_stop_stored);
        b = s->store->ops->begin(s->store);
        sb->stopping = true;
        cay_record_put_sandbox_as(sb, b, CAY_STATE_STOPPED, CAY_CAUSE_KILLED, STOPPED_TEXT);
        cay_async_commit(e, b);
}

void cay_service_stop(struct cay_service *s, const struct cay_viewer *v, const char *id,
                      struct cay_service_call *c)
{
        struct cay_error err = { 0 };
        struct cay_sandbox *sb = cay_table_get(s, v, id, &err);

        c->next = NULL;
        if (sb != NULL && is_stopped(sb, c))
                return;
        if (sb != NULL && cay_sandbox_check_engine(sb, &err) == 0 && cay_sandbox_check_still(sb, &err) == 0 &&
            cay_sandbox_state(sb) == CAY_STATE_CREATING)
                cay_fail(&err, CAY_CONFLICT, "sandbox '%s' is not running (%s)", sb->id,
                         cay_state_word(cay_sandbox_state(sb)));
        /* A stop would erase the cause, and with it the fact that its files may not be kept. */
        if (err.code == CAY_OK && cay_sandbox_state(sb) == CAY_STATE_ERROR && sb->cause == CAY_CAUSE_DISK &&
            !sb->has_box)
                cay_fail(&err, CAY_CONFLICT,
                         "sandbox '%s' does not run, and its files may be incomplete; start or destroy it",
                         sb->id);
        if (err.code != CAY_OK) {
                cay_service_fail_job(s, &c->job, &err);
                return;
        }
        cay_sandbox_asked_by(sb, v);
        cay_sandbox_stop(sb, c);
}

/* destroy */

static void remove_spools(struct cay_sandbox *sb)
{
        while (sb->execs != NULL)
                cay_exec_remove(sb->execs);
        cay_recording_remove(sb);
}

static void destroyed(struct cay_sandbox *sb)
{
        struct cay_service *s = sb->service;
        static const struct cay_error fine = { 0 };

        cay_kill_point_reached(CAY_KILL_POINT_destroy_done);
        remove_spools(sb);
        cay_kill_point_reached(CAY_KILL_POINT_destroy_swept);
        cay_sandbox_move(sb, CAY_SANDBOX_EVENT_DONE);
        cay_sandbox_answer(s, &sb->calls, &fine);
        cay_sandbox_answer(s, &sb->destroy_calls, &fine);
        cay_sandbox_free(sb);
        cay_tick_by(s, 0); /* its steps go */
}

static void on_box_destroyed(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;
        struct cay_error why = *err;

        if (sb == NULL)
                return;
        if (err->code == CAY_OK) {
                destroyed(sb);
                return;
        }
        /* The record is back, so that the remains have an owner. */
        cay_wrap(&why, "sandbox '%s' could not be removed wholly", sb->id);
        sb->destroy_why = NULL;
        if (sb->hidden && cay_table_find_name(sb->service, sb->owner, sb->name) != NULL)
                sb->name[0] = '\0'; /* another one has it now */
        sb->hidden = false;
        cay_sandbox_answer(sb->service, &sb->destroy_calls, &why);
        cay_sandbox_fail(sb, CAY_CAUSE_ENGINE_LOST, why.msg);
        cay_sandbox_finish(sb, &why);
}

static void answer_early(struct cay_sandbox *sb)
{
        static const struct cay_error fine = { 0 };
        struct cay_service_call **at = &sb->destroy_calls;

        while (*at != NULL) {
                struct cay_service_call *c = *at;

                if (!c->early) {
                        at = &c->next;
                        continue;
                }
                *at = c->next;
                c->next = NULL;
                sb->hidden = true;
                cay_service_fail_job(sb->service, &c->job, &fine);
        }
}

static void on_drop_stored(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;
        struct cay_service *s = e->service;
        struct cay_error why = { 0 };

        if (sb == NULL)
                return;
        if (err->code != CAY_OK) {
                cay_sandbox_answer(s, &sb->destroy_calls, err);
                cay_sandbox_move(sb, CAY_SANDBOX_EVENT_UNDO);
                cay_sandbox_finish(sb, err);
                return;
        }
        cay_kill_point_reached(CAY_KILL_POINT_destroy_stored);
        cay_sandbox_move(sb, CAY_SANDBOX_EVENT_STORE);
        end_execs(sb, CAY_CAUSE_KILLED, "the sandbox was destroyed");
        note_ended(sb);
        cay_fail(&why, CAY_NOT_FOUND, "sandbox '%s' was destroyed", sb->id);
        cay_sandbox_empty(sb, &why);
        if (!sb->has_box && !sb->kept) {
                destroyed(sb);
                return;
        }
        cay_async_unmake(cay_async_new(s, sb, NULL, on_box_destroyed), false, CAY_SERVICE_UNMAKE_MS);
        answer_early(sb);
}

void cay_sandbox_destroy(struct cay_sandbox *sb, const char *why, struct cay_service_call *c)
{
        struct cay_service *s = sb->service;
        struct cay_store_batch *b;
        struct cay_error err = { 0 };
        struct cay_async *e;

        if ((sb->has_box || sb->kept) && cay_sandbox_check_engine(sb, &err) < 0) {
                if (c != NULL)
                        cay_service_fail_job(s, &c->job, &err);
                return;
        }
        if (c != NULL) {
                cay_str_copy(c->id, sizeof(c->id), sb->id);
                c->next = sb->destroy_calls;
                sb->destroy_calls = c;
        }
        if (cay_sandbox_pending(sb) == CAY_PENDING_DESTROY)
                return;
        if (cay_sandbox_pending(sb) != CAY_PENDING_NONE) {
                sb->destroy_why = why;
                return;
        }
        cay_kill_point_reached(CAY_KILL_POINT_destroy_asked);
        cay_sandbox_begin(sb, CAY_SANDBOX_EVENT_DESTROY, NULL);
        e = cay_async_new(s, sb, NULL, on_drop_stored);
        b = s->store->ops->begin(s->store);
        s->store->ops->drop(b, CAY_STORE_SANDBOX, sb->id);
        cay_event_put(e, b, sb, CAY_EVENT_DESTROYED, "why", why, "name", sb->name, NULL);
        cay_async_commit(e, b);
}

void cay_service_destroy(struct cay_service *s, const struct cay_viewer *v, const char *id,
                         struct cay_service_call *c)
{
        struct cay_error err = { 0 };
        struct cay_sandbox *sb = cay_table_get(s, v, id, &err);

        c->next = NULL;
        if (sb == NULL) {
                cay_service_fail_job(s, &c->job, &err);
        } else {
                cay_sandbox_asked_by(sb, v);
                cay_sandbox_destroy(sb, "asked", c);
        }
}

void cay_service_discard(struct cay_service *s, const struct cay_viewer *v, const char *id)
{
        struct cay_error ignored = { 0 };
        struct cay_sandbox *sb = cay_table_get(s, v, id, &ignored);

        if (sb == NULL)
                return;
        sb->options.on_timeout = NULL;
        sb->expires_ms = cay_service_now(s);
        cay_sandbox_store_again(sb);
        cay_tick_sandbox(sb, 0);
}

/* Boxes that do not answer or are gone */

static void on_fail_stored(struct cay_async *e, const struct cay_error *err)
{
        if (e->sandbox != NULL && err->code != CAY_OK)
                e->sandbox->dirty = true;
}

static void store_event(struct cay_sandbox *sb, enum cay_event_kind kind)
{
        struct cay_service *s = sb->service;
        struct cay_async *e = cay_async_new(s, sb, NULL, on_fail_stored);
        struct cay_store_batch *b = s->store->ops->begin(s->store);

        cay_record_put_sandbox(sb, b, cay_sandbox_state(sb));
        cay_event_put(e, b, sb, kind, "cause", sb->cause != CAY_CAUSE_NONE ? cay_cause_word(sb->cause) : "",
                      "text", sb->cause_text, NULL);
        cay_async_commit(e, b);
}

void cay_sandbox_fail(struct cay_sandbox *sb, enum cay_cause cause, const char *text)
{
        if (sb->phase == CAY_SANDBOX_PHASE_ERROR && sb->cause == cause && strcmp(sb->cause_text, text) == 0)
                return;
        cay_sandbox_move(sb, CAY_SANDBOX_EVENT_FAIL);
        cay_sandbox_set_cause(sb, cause, text);
        cay_log_warn("sandbox in error", "id=%s cause=%s text=%s", sb->id, cay_cause_word(cause),
                     sb->cause_text);
        store_event(sb, CAY_EVENT_FAILED);
}

void cay_sandbox_recover(struct cay_sandbox *sb)
{
        if (sb->phase != CAY_SANDBOX_PHASE_ERROR || !sb->has_box)
                return;
        cay_sandbox_move(sb, CAY_SANDBOX_EVENT_ANSWER);
        cay_log_info("sandbox answers again", "id=%s", sb->id);
        store_event(sb, CAY_EVENT_RECOVERED);
}

static void on_gone_stored(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;

        if (sb == NULL)
                return;
        sb->dirty |= err->code != CAY_OK;
        note_execs(sb, err);
        cay_sandbox_move(sb, CAY_SANDBOX_EVENT_DONE);
        cay_sandbox_finish(sb, NULL);
        if (e->sandbox != NULL && sb->adopting)
                cay_adopt_done(sb);
}

/* The remains are removed (or cannot be): decide the causes, then store. */
static void on_remains(struct cay_async *e, const struct cay_error *err)
{
        struct cay_sandbox *sb = e->sandbox;
        struct cay_service *s = e->service;
        uint64_t oom_kills = err->code == CAY_OK ? e->box.stats.oom_kills : 0;
        struct cay_store_batch *b;
        struct cay_exec *next_exec;
        struct cay_async *next;

        if (sb == NULL)
                return;
        sb->has_box = false;
        cay_sandbox_unpublish(sb);
        if (oom_kills > sb->oom_seen)
                snprintf(sb->cause_text, sizeof(sb->cause_text),
                         "the sandbox ran out of memory and its init was killed");
        if (oom_kills > sb->oom_seen)
                sb->cause = CAY_CAUSE_MEMORY;
        if (err->code == CAY_OK && e->box.damaged) {
                snprintf(sb->cause_text, sizeof(sb->cause_text), DAMAGED_TEXT, sb->id);
                sb->cause = CAY_CAUSE_DISK;
        } else if (err->code == CAY_DAMAGED) {
                cay_str_copy(sb->cause_text, sizeof(sb->cause_text), err->msg);
                sb->cause = CAY_CAUSE_DISK;
        }
        for (struct cay_exec *x = sb->execs; x != NULL; x = next_exec) {
                next_exec = x->next;
                x->facts.facts.oom_kills = oom_kills > x->oom_before ? oom_kills - x->oom_before : 0;
                cay_exec_end_without(x, sb->lost_as, "");
        }
        cay_sandbox_move(sb, CAY_SANDBOX_EVENT_CLEAN);
        next = cay_async_new(s, sb, NULL, on_gone_stored);
        b = s->store->ops->begin(s->store);
        cay_record_put_sandbox(sb, b, CAY_STATE_ERROR);
        put_execs(next, b, sb);
        cay_event_put(next, b, sb, CAY_EVENT_FAILED, "cause", cay_cause_word(sb->cause), "text",
                      sb->cause_text, NULL);
        cay_async_commit(next, b);
}

bool cay_sandbox_gone(struct cay_sandbox *sb, enum cay_cause as, const char *text)
{
        struct cay_service *s = sb->service;
        struct cay_error why = { 0 };
        struct cay_async *e;

        if (!sb->has_box)
                return true;
        if (cay_sandbox_pending(sb) != CAY_PENDING_NONE && cay_sandbox_pending(sb) != CAY_PENDING_ADOPT)
                return false;
        cay_log_warn("sandbox gone", "id=%s cause=%s text=%s", sb->id, cay_cause_word(as), text);
        cay_sandbox_move(sb, CAY_SANDBOX_EVENT_LOSE);
        cay_sandbox_let_figures_go(sb);
        sb->lost_as = as;
        cay_fail(&why, CAY_CONFLICT, "sandbox '%s' is gone: %s", sb->id, text);
        cay_sandbox_empty(sb, &why);
        cay_sandbox_set_cause(sb, as, text);
        e = cay_async_new(s, sb, NULL, on_remains);
        cay_async_unmake(e, sb->kept, CAY_SERVICE_ENGINE_MS);
        return true;
}

/* Clean-up */

struct cleanup_item {
        struct cay_service_call call;
        struct cay_service_cleanup *cleanup;
};

static void on_item_gone(struct cay_job *job)
{
        struct cleanup_item *item = cay_container_of(job, struct cleanup_item, call.job);
        struct cay_service_cleanup *c = item->cleanup;

        if (job->err.code == CAY_OK || job->err.code == CAY_NOT_FOUND)
                c->gone++;
        else
                c->failed++;
        if (c->failed == 1 && c->why.code == CAY_OK)
                c->why = job->err;
        if (--c->pending == 0)
                cay_job_finish(cay_loop_jobs(c->loop), &c->job, NULL);
}

static bool is_empty(const struct cay_sandbox_filter *f)
{
        return f == NULL ||
               (f->name == NULL && f->template_name == NULL && f->labels.count == 0 && f->states == 0 &&
                f->older_ms == 0 && f->idle_ms == 0 && f->metadata.count == 0 && f->after_wall_ms == 0);
}

static int choose(struct cay_service *s, const struct cay_viewer *v, const struct cay_sandbox_filter *f,
                  struct cay_service_cleanup *c)
{
        cay_arena_init(&c->mem, 1024u * 1024);
        c->ids = cay_arena_array(&c->mem, CAY_SERVICE_PAGE_MAX, sizeof(*c->ids));
        if (c->ids == NULL)
                return -1;
        for (unsigned i = 0; i < s->count; i++) {
                struct cay_sandbox *sb = s->sorted[i];

                if (cay_sandbox_pending(sb) == CAY_PENDING_DESTROY || !cay_table_filter_takes(sb, v, f))
                        continue;
                c->more = c->count == CAY_SERVICE_PAGE_MAX;
                if (c->more)
                        break;
                c->ids[c->count] = cay_arena_copy(&c->mem, sb->id, strlen(sb->id));
                if (c->ids[c->count] == NULL)
                        return -1;
                c->count++;
        }
        return 0;
}

void cay_service_cleanup(struct cay_service *s, const struct cay_viewer *v,
                         const struct cay_sandbox_filter *filter, bool dry, struct cay_service_cleanup *c)
{
        struct cay_error err = { 0 };

        c->loop = s->loop;
        if (cay_service_check_ready(s, &err) == 0 && is_empty(filter))
                cay_fail(&err, CAY_INVALID,
                         "cleanup without a filter would destroy everything; filter by label, age, idle "
                         "time, template, state or name");
        else if (err.code == CAY_OK && choose(s, v, filter, c) < 0)
                cay_fail(&err, CAY_INTERNAL, "no memory");
        if (err.code != CAY_OK || dry || c->count == 0) {
                cay_service_fail_job(s, &c->job, &err);
                return;
        }
        c->items = cay_service_alloc(c->count * sizeof(*c->items));
        c->pending = c->count;
        for (unsigned i = 0; i < c->count; i++) {
                c->items[i].cleanup = c;
                cay_job_init(&c->items[i].call.job, on_item_gone);
                cay_sandbox_asked_by(cay_table_find(s, c->ids[i]), v);
                cay_sandbox_destroy(cay_table_find(s, c->ids[i]), "cleanup", &c->items[i].call);
        }
}

void cay_service_cleanup_done(struct cay_service_cleanup *c)
{
        cay_arena_done(&c->mem);
        free(cay_take(c->items));
        c->ids = NULL;
        c->count = 0;
}
