/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of sandboxes. See step.h for the theory. */
#include "domain/sandboxes/step.h"

#include "foundation/base/str.h"
#include "foundation/base/utf8.h"
#include "domain/sandboxes/snapshot_priv.h"

/* Those of a sandbox, the newest first. */
static struct cay_snapshot *next_of(struct cay_snapshot *n, const char *sandbox)
{
        while (n != NULL && (n->step == 0 || strcmp(n->sandbox, sandbox) != 0))
                n = n->older;
        return n;
}

uint64_t cay_step_next_number(const struct cay_service *s, const char *sandbox)
{
        const struct cay_snapshot *newest = next_of(s->snapshots->newest, sandbox);

        return newest != NULL ? newest->step + 1 : 1;
}

void cay_service_step(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                      const char *note, struct cay_service_call *c)
{
        const struct cay_snapshot_new what = { 0 };
        struct cay_error err = { 0 };
        struct cay_sandbox *sb = cay_table_get(s, v, sandbox, &err);

        c->next = NULL;
        if (sb != NULL)
                cay_snapshot_take(sb, &what, note, c);
        else
                cay_service_fail_job(s, &c->job, &err);
}

/* Before a command */

struct before {
        struct cay_service_call call;
        struct cay_exec *exec; /* ref */
        void (*then)(struct cay_exec *x, const struct cay_error *err);
};

static void on_taken(struct cay_job *job)
{
        struct before *b = cay_container_of(job, struct before, call.job);
        struct cay_error err = job->err;

        if (err.code != CAY_OK)
                cay_wrap(&err, "the command did not run: the step before it could not be made");
        if (b->exec->sandbox != NULL && !cay_exec_is_ended(b->exec))
                b->then(b->exec, &err);
        cay_exec_unref(b->exec);
        free(b);
}

static void note_of(const struct cay_exec *x, char ret[CAY_STEP_NOTE_MAX + 1])
{
        size_t at = 0;

        ret[0] = '\0';
        for (unsigned i = x->is_line ? 2 : 0; x->argv[i] != NULL && at < CAY_STEP_NOTE_MAX; i++) {
                int n = snprintf(ret + at, CAY_STEP_NOTE_MAX + 1 - at, "%s%s", at > 0 ? " " : "", x->argv[i]);

                at += n > 0 ? (size_t)n : 0;
        }
        ret[cay_utf8_cut(ret, strlen(ret))] = '\0';
}

void cay_exec_take_step(struct cay_exec *x, void (*then)(struct cay_exec *x, const struct cay_error *err))
{
        const struct cay_snapshot_new what = { 0 };
        struct before *b = cay_service_alloc(sizeof(*b));
        char note[CAY_STEP_NOTE_MAX + 1];

        b->exec = cay_exec_ref(x);
        b->then = then;
        note_of(x, note);
        cay_job_init(&b->call.job, on_taken);
        cay_snapshot_take(x->sandbox, &what, note, &b->call);
}

/* Thinning */

static bool may_go(const struct cay_snapshot *n)
{
        return cay_snapshot_is_there(n) && n->uses == 0 && n->engine->engine != NULL;
}

void cay_steps_thin(struct cay_service *s, const char *sandbox)
{
        struct cay_snapshot *newer = next_of(s->snapshots->newest, sandbox), *n, *older, *best = NULL;
        uint64_t smallest = UINT64_MAX;
        unsigned count = 0;

        for (n = newer; n != NULL; n = next_of(n->older, sandbox))
                count++;
        if (count <= CAY_STEPS_MAX)
                return;
        count = 0;
        for (n = next_of(newer->older, sandbox); n != NULL; newer = n, n = older) {
                older = next_of(n->older, sandbox);
                count++; /* how many are newer than n */
                if (older == NULL || count < CAY_STEPS_RECENT || !may_go(n) ||
                    newer->created_wall_ms - older->created_wall_ms >= smallest)
                        continue;
                smallest = newer->created_wall_ms - older->created_wall_ms;
                best = n;
        }
        if (best != NULL)
                cay_snapshot_drop(best, "thinned", NULL);
}

/* Looking */

void cay_service_step_list(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                           void (*each)(void *ctx, const struct cay_snapshot_view *view), void *ctx)
{
        struct cay_snapshot_view view;

        for (struct cay_snapshot *n = next_of(s->snapshots->newest, sandbox); n != NULL;
             n = next_of(n->older, sandbox)) {
                if (!cay_snapshot_is_there(n) || (!v->sees_all && strcmp(n->owner, v->owner) != 0))
                        continue;
                cay_snapshot_fill_view(n, &view);
                each(ctx, &view);
        }
}

int cay_service_step_get(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                         uint64_t number, struct cay_snapshot_view *ret, struct cay_error *err)
{
        for (struct cay_snapshot *n = next_of(s->snapshots->newest, sandbox); n != NULL;
             n = next_of(n->older, sandbox)) {
                if (!cay_snapshot_is_there(n) || (number > 0 && n->step != number) ||
                    (!v->sees_all && strcmp(n->owner, v->owner) != 0))
                        continue;
                cay_snapshot_fill_view(n, ret);
                return 0;
        }
        if (number == 0)
                return cay_fail(err, CAY_NOT_FOUND,
                                "sandbox '%s' has no steps: they are made before each command when it is "
                                "created with checkpoint, or with a command that asks for one",
                                sandbox);
        return cay_fail(err, CAY_NOT_FOUND, "step: sandbox '%s' has no step %llu (any more); list its steps",
                        sandbox, (unsigned long long)number);
}

/* Going back */

static void on_told(struct cay_async *e, const struct cay_error *err)
{
        if (err->code != CAY_OK) /* the files are in place; only the journal lacks it */
                cay_service_log_unstored(e->service, "undo", e->id, err);
        cay_service_fail_job(e->service, &cay_take(e->call)->job, &(struct cay_error){ 0 });
}

static void on_restored(struct cay_async *e, const struct cay_error *err)
{
        struct cay_service *s = e->service;
        struct cay_snapshot *n = cay_snapshot_find(s, e->id);
        struct cay_service_call *c = cay_take(e->call);
        struct cay_sandbox *sb = e->sandbox;
        struct cay_error why = *err;
        struct cay_store_batch *b;
        struct cay_async *next;
        char number[24];

        if (n != NULL && n->uses > 0)
                n->uses--;
        if (sb == NULL) { /* destroyed meanwhile: its files must not come back */
                if (err->code == CAY_OK)
                        cay_async_remove_box(e->engine, e->box.id, false);
                cay_fail(&why, CAY_NOT_FOUND, "sandbox '%s' was destroyed meanwhile", e->box.id);
                cay_service_fail_job(s, &c->job, &why);
                return;
        }
        sb->clones--;
        if (why.code != CAY_OK) {
                cay_service_fail_job(s, &c->job, &why);
                return;
        }
        cay_kill_point_reached(CAY_KILL_POINT_undo_restored);
        cay_recording_stop(sb, "undone");
        snprintf(number, sizeof(number), "%llu", (unsigned long long)(n != NULL ? n->step : 0));
        next = cay_async_new(s, sb, NULL, on_told);
        next->call = c;
        cay_str_copy(next->id, sizeof(next->id), sb->id);
        b = s->store->ops->begin(s->store);
        cay_event_put(next, b, sb, CAY_EVENT_UNDONE, "step", number, "snapshot", e->id, NULL);
        cay_async_commit(next, b);
}

static int check_restore(struct cay_sandbox *sb, const struct cay_snapshot *n, const char *step,
                         struct cay_error *err)
{
        if (n == NULL || !cay_snapshot_is_there(n) || strcmp(n->sandbox, sb->id) != 0 || n->step == 0)
                return cay_fail(err, CAY_NOT_FOUND, "step: '%.63s' is no step of sandbox '%s'", step, sb->id);
        if (cay_snapshot_is_missing(n))
                return cay_fail(err, CAY_CONFLICT, "step: its files are gone; remove it");
        if (cay_sandbox_check_engine(sb, err) < 0 || cay_sandbox_check_still(sb, err) < 0)
                return -1;
        if (sb->has_box ||
            (cay_sandbox_state(sb) != CAY_STATE_STOPPED && cay_sandbox_state(sb) != CAY_STATE_ERROR))
                return cay_fail(err, CAY_CONFLICT, "sandbox '%s' runs; stop it first", sb->id);
        return 0;
}

void cay_service_step_restore(struct cay_service *s, const struct cay_viewer *v, const char *sandbox,
                              const char *step, struct cay_service_call *c)
{
        struct cay_error err = { 0 };
        struct cay_sandbox *sb = cay_table_get(s, v, sandbox, &err);
        struct cay_snapshot *n = cay_snapshot_find(s, step);
        struct cay_engine *engine;
        struct cay_async *e;
        struct cay_job *job;

        c->next = NULL;
        if (sb == NULL || check_restore(sb, n, step, &err) < 0) {
                cay_service_fail_job(s, &c->job, &err);
                return;
        }
        cay_sandbox_asked_by(sb, v);
        e = cay_async_new(s, sb, NULL, on_restored);
        e->call = c;
        cay_str_copy(e->id, sizeof(e->id), n->id);
        cay_str_copy(e->box.id, sizeof(e->box.id), sb->id);
        n->uses++;
        sb->clones++;
        engine = cay_async_ask(e, CAY_SERVICE_CLONE_MS, &job);
        if (engine != NULL)
                engine->ops->clone(engine, n->id, CAY_ENGINE_CLONE_SYNC | CAY_ENGINE_CLONE_REPLACE, &e->box,
                                   job);
}
