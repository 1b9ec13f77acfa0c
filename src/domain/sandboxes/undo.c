/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Undo: a sandbox gets the files of one of its steps again.
 *
 * Theory of operation. Four operations, each whole or not at all: stop, a step of the files as they are now
 * (so that the undo can be undone), the step's files in their place, start. When one fails, a sandbox that
 * ran is started again, and the answer is the first error: its files are then what they were.
 *
 * What is intended is stored with the stop (options.undo_*), and cleared when the sandbox runs again. A front
 * that finds a stopped sandbox with it goes on: if the step of the files as they were (undo_kept) is there,
 * the files are put in place, once more if that was done already; if it is not, nothing was changed yet.
 * Either way a sandbox that ran is started. One that was stopped before keeps nothing in mind: it stays
 * stopped, with the one or the other files. The same is done when the engine has another helper, after the
 * first one died in the middle.
 */
#include "foundation/base/str.h"
#include "domain/sandboxes/snapshot_priv.h"

struct undo {
        struct cay_service_call call;
        struct cay_service_undo *asked; /* NULL: another front began it */
        struct cay_service *service;
        struct cay_viewer viewer; /* its texts are below */
        char owner[CAY_NAME_MAX + 1], by[CAY_SERVICE_BY_MAX + 1];
        char id[CAY_NAME_MAX + 1], target[CAY_NAME_MAX + 1];
        uint64_t step;
        bool ran;
        struct cay_error err; /* the first */
};

static void forget_intent(struct cay_sandbox *sb)
{
        if (sb->options.undo_step == 0)
                return;
        sb->options.undo_step = sb->options.undo_kept = 0;
        sb->options.undo_ran = false;
        sb->dirty = true;
        cay_tick_sandbox(sb, 0);
}

/* Its engine lost its helper in the middle: it goes on when that is back (engine_back.c). */
static bool waits_for_engine(struct cay_sandbox *sb)
{
        char why[256];

        return sb->options.undo_ran && cay_sandbox_state(sb) == CAY_STATE_STOPPED &&
               !cay_engine_is_up(sb->engine, why);
}

static void finish(struct undo *u)
{
        struct cay_sandbox *sb = cay_table_find(u->service, u->id);

        if (sb != NULL)
                sb->is_undoing = false;
        if (sb != NULL && !waits_for_engine(sb))
                forget_intent(sb);
        if (u->asked == NULL) {
                if (u->err.code != CAY_OK)
                        cay_log_warn("an undo that was cut off could not be finished", "id=%s error=%s",
                                     u->id, u->err.msg);
                else
                        cay_log_info("an undo that was cut off is finished", "id=%s step=%llu", u->id,
                                     (unsigned long long)u->step);
        } else {
                if (u->err.code != CAY_OK && u->asked->is_back)
                        cay_wrap(&u->err, "its files are those of step %llu, but it does not run",
                                 (unsigned long long)u->step);
                cay_service_fail_job(u->service, &u->asked->call.job, &u->err);
        }
        free(u);
}

static void on_started(struct cay_job *job)
{
        struct undo *u = cay_container_of(job, struct undo, call.job);

        if (u->err.code == CAY_OK)
                u->err = job->err;
        else if (job->err.code != CAY_OK)
                cay_log_warn("sandbox not started after an undo that failed", "id=%s error=%s", u->id,
                             job->err.msg);
        finish(u);
}

static void start_again(struct undo *u)
{
        if (!u->ran) {
                finish(u);
                return;
        }
        cay_job_init(&u->call.job, on_started);
        cay_service_start(u->service, &u->viewer, u->id, NULL, &u->call);
}

static void on_restored(struct cay_job *job)
{
        struct undo *u = cay_container_of(job, struct undo, call.job);

        u->err = job->err;
        if (u->asked != NULL)
                u->asked->is_back = u->err.code == CAY_OK;
        start_again(u);
}

static void restore(struct undo *u)
{
        cay_job_init(&u->call.job, on_restored);
        cay_service_step_restore(u->service, &u->viewer, u->id, u->target, &u->call);
}

static void on_kept(struct cay_job *job)
{
        struct undo *u = cay_container_of(job, struct undo, call.job);
        struct cay_snapshot_view view;

        u->err = job->err;
        if (u->err.code == CAY_OK)
                cay_kill_point_reached(CAY_KILL_POINT_undo_kept);
        if (u->err.code == CAY_OK &&
            cay_service_step_get(u->service, &u->viewer, u->id, 0, &view, &u->err) == 0)
                u->asked->kept_as = view.step;
        if (u->err.code != CAY_OK) {
                cay_wrap(&u->err, "nothing is undone: the files as they are now could not be kept");
                start_again(u);
                return;
        }
        restore(u);
}

static void keep(struct undo *u)
{
        char note[64];

        snprintf(note, sizeof(note), "undo to step %llu", (unsigned long long)u->step);
        cay_job_init(&u->call.job, on_kept);
        cay_service_step(u->service, &u->viewer, u->id, note, &u->call);
}

static void on_stopped(struct cay_job *job)
{
        struct undo *u = cay_container_of(job, struct undo, call.job);

        u->err = job->err;
        if (u->err.code != CAY_OK) {
                u->ran = false; /* whatever it is now, it is not ours to start */
                finish(u);
                return;
        }
        cay_kill_point_reached(CAY_KILL_POINT_undo_stopped);
        keep(u);
}

static struct undo *undo_new(struct cay_service *s, struct cay_sandbox *sb,
                             const struct cay_snapshot_view *step)
{
        struct undo *u = cay_service_alloc(sizeof(*u));

        u->service = s;
        cay_str_copy(u->owner, sizeof(u->owner), sb->owner);
        u->viewer = (struct cay_viewer){ .owner = u->owner, .by = u->by };
        cay_str_copy(u->id, sizeof(u->id), sb->id);
        cay_str_copy(u->target, sizeof(u->target), step->id);
        u->step = step->step;
        sb->is_undoing = true;
        return u;
}

void cay_service_undo(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                      struct cay_service_undo *c)
{
        struct cay_error err = { 0 };
        struct cay_sandbox *sb = cay_table_get(s, v, sandbox, &err);
        struct cay_snapshot_view step;
        struct undo *u;

        c->call.next = NULL;
        if (sb != NULL && sb->is_undoing)
                cay_fail(&err, CAY_CONFLICT, "sandbox '%s' is being undone already", sb->id);
        if (err.code != CAY_OK || cay_service_step_get(s, v, sb->id, c->step, &step, &err) < 0) {
                cay_service_fail_job(s, &c->call.job, &err);
                return;
        }
        u = undo_new(s, sb, &step);
        u->asked = c;
        u->viewer.sees_all = v->sees_all;
        cay_str_copy(u->by, sizeof(u->by), v->by != NULL ? v->by : "");
        c->step = step.step;
        c->ended = sb->running;
        u->ran = cay_sandbox_state(sb) != CAY_STATE_STOPPED && cay_sandbox_state(sb) != CAY_STATE_ERROR;
        if (cay_sandbox_state(sb) == CAY_STATE_STOPPED) {
                keep(u);
                return;
        }
        if (cay_sandbox_pending(sb) == CAY_PENDING_NONE) { /* else the stop is refused, or is another's */
                sb->options.undo_step = step.step;
                sb->options.undo_kept = cay_step_next_number(s, sb->id);
                sb->options.undo_ran = u->ran;
        }
        cay_job_init(&u->call.job, on_stopped);
        cay_service_stop(s, &u->viewer, u->id, &u->call);
}

/* At start-up, when nothing of its old box is left */

void cay_undo_go_on(struct cay_sandbox *sb)
{
        struct cay_service *s = sb->service;
        const struct cay_viewer all = { .owner = sb->owner, .sees_all = true };
        uint64_t step = sb->options.undo_step, kept = sb->options.undo_kept;
        struct cay_snapshot_view before, target;
        struct cay_error err = { 0 };
        struct undo *u;

        if (step == 0 || sb->unmaking || sb->is_undoing)
                return;
        if (cay_sandbox_state(sb) != CAY_STATE_STOPPED || !sb->options.undo_ran ||
            cay_sandbox_pending(sb) != CAY_PENDING_NONE ||
            cay_service_step_get(s, &all, sb->id, step, &target, &err) < 0) {
                forget_intent(sb);
                return;
        }
        u = undo_new(s, sb, &target);
        u->ran = true;
        if (cay_service_step_get(s, &all, sb->id, kept, &before, &err) == 0)
                restore(u);
        else
                start_again(u);
}

void cay_undo_go_on_all(struct cay_service *s)
{
        for (unsigned i = 0; i < s->count; i++)
                cay_undo_go_on(s->sorted[i]);
}
