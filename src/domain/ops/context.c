/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts of a sandbox: finding them, and starting their kernels. */
#include "domain/ops/context.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/str.h"
#include "foundation/loop/loop.h"

#define SOURCE_MAX (256u * 1024)

struct search {
        const char *name;
        struct cay_exec_view *ret;
        bool found;
};

static void look(void *ctx, const struct cay_exec_view *view)
{
        struct search *s = ctx;

        if (strcmp(view->context, s->name) == 0) {
                *s->ret = *view;
                s->found = true; /* a later one is newer */
        }
}

int cay_context_find(struct cay_op_call *c, const char *sandbox, const char *name, struct cay_exec_view *ret,
                     struct cay_error *err)
{
        struct cay_viewer viewer = cay_op_viewer(c);
        struct search search = { .name = name, .ret = ret };

        if (cay_service_exec_list(c->world->service, &viewer, sandbox, look, &search, err) < 0)
                return -1;
        if (!search.found || name[0] == '.')
                return cay_fail(err, CAY_NOT_FOUND, "sandbox '%s' has no context '%.63s'; create it", sandbox,
                                name);
        return 0;
}

struct listing {
        struct cay_op_call *call;
        const char *sandbox;
        void (*each)(void *ctx, const struct cay_exec_view *view);
        void *ctx;
};

static bool is_context(const struct cay_exec_view *view)
{
        return cay_exec_kind_of(view->context) == CAY_EXEC_KERNEL;
}

static void list_one(void *ctx, const struct cay_exec_view *view)
{
        const struct listing *l = ctx;
        struct cay_exec_view newest;
        struct cay_error err = { 0 };

        if (is_context(view) && cay_context_find(l->call, l->sandbox, view->context, &newest, &err) == 0 &&
            strcmp(newest.id, view->id) == 0)
                l->each(l->ctx, view);
}

int cay_context_list(struct cay_op_call *c, const char *sandbox,
                     void (*each)(void *ctx, const struct cay_exec_view *view), void *ctx,
                     struct cay_error *err)
{
        struct cay_viewer viewer = cay_op_viewer(c);
        struct listing listing = { c, sandbox, each, ctx };

        return cay_service_exec_list(c->world->service, &viewer, sandbox, list_one, &listing, err);
}

static void count_one(void *ctx, const struct cay_exec_view *view)
{
        unsigned *count = ctx;

        *count += is_context(view) && view->state != CAY_EXEC_ENDED;
}

static int check_count(struct cay_op_call *c, const char *sandbox, struct cay_error *err)
{
        struct cay_viewer viewer = cay_op_viewer(c);
        unsigned count = 0;

        if (cay_service_exec_list(c->world->service, &viewer, sandbox, count_one, &count, err) < 0)
                return -1;
        if (count >= CAY_CONTEXTS_MAX)
                return cay_fail(err, CAY_LIMIT, "sandbox '%s' has %u contexts, the most at once; remove one",
                                sandbox, count);
        return 0;
}

/* A program that is not there ends at once with 127. */
static void tell_ended(struct cay_context_start *s, struct cay_error *err)
{
        struct cay_viewer viewer = cay_op_viewer(s->call);
        struct cay_exec_view view;
        struct cay_error other = { 0 };

        if (cay_service_exec_get(s->call->world->service, &viewer, s->sandbox, s->exec.id, &view, &other) <
                    0 ||
            view.state != CAY_EXEC_ENDED)
                return;
        *err = (struct cay_error){ 0 };
        if (view.exit_code == 127)
                cay_fail(err, CAY_UNSUPPORTED,
                         "language: this sandbox has no program for %s; use a template that has it",
                         s->kernel->language);
        else
                cay_fail(err, CAY_CONFLICT, "the %s kernel ended at its start: %s", s->kernel->language,
                         view.cause_text);
        cay_service_exec_leave_context(s->call->world->service, &viewer, s->sandbox, s->exec.id, &other);
}

static void on_fed(struct cay_job *job)
{
        struct cay_context_start *s = cay_container_of(job, struct cay_context_start, input.job);
        struct cay_error err = job->err;

        if (err.code != CAY_OK)
                tell_ended(s, &err);
        s->on_done(s, &err);
}

static void on_started(struct cay_job *job)
{
        struct cay_context_start *s = cay_container_of(job, struct cay_context_start, exec.job);
        struct cay_viewer viewer = cay_op_viewer(s->call);
        struct cay_error err = job->err;

        if (err.code != CAY_OK) {
                s->on_done(s, &err);
                return;
        }
        cay_str_copy(s->exec_id, sizeof(s->exec_id), s->exec.id);
        s->input.bytes = cay_buf_data(&s->source);
        s->input.len = s->source.len;
        cay_job_init(&s->input.job, on_fed);
        cay_service_exec_input(s->call->world->service, &viewer, s->sandbox, s->exec.id, &s->input);
}

void cay_context_start(struct cay_context_start *s, const char *sandbox)
{
        struct cay_viewer viewer = cay_op_viewer(s->call);
        const struct cay_exec_new what = {
                .argv = s->kernel->argv,
                .cwd = s->cwd && s->cwd[0] != '\0' ? s->cwd : NULL,
                .env = s->env,
                .has_stdin = true,
                .background = true,
                .context = s->name,
                .language = s->kernel->language,
        };
        struct cay_error err = { 0 };

        cay_str_copy(s->sandbox, sizeof(s->sandbox), sandbox);
        cay_buf_init(&s->source, SOURCE_MAX);
        cay_job_init(&s->exec.job, on_started);
        if (check_count(s->call, sandbox, &err) < 0 ||
            cay_buf_printf(&s->source, "%zu\n", s->kernel->source_len) < 0 ||
            cay_buf_put(&s->source, s->kernel->source, s->kernel->source_len) < 0) {
                if (err.code == CAY_OK)
                        cay_fail(&err, CAY_INTERNAL, "no memory for a kernel");
                cay_job_finish(cay_loop_jobs(s->call->world->loop), &s->exec.job, &err);
                return;
        }
        cay_service_exec(s->call->world->service, &viewer, sandbox, &what, &s->exec);
}

void cay_context_start_done(struct cay_context_start *s)
{
        cay_buf_done(&s->source);
}

/* Interrupting */

struct interrupt { /* frees itself */
        struct cay_exec_input input;
        struct cay_timer timer;
        const struct cay_op_world *world;
        char sandbox[CAY_NAME_MAX + 1], exec[CAY_NAME_MAX + 1];
        unsigned after_ms; /* until the signal */
        uint32_t run;      /* the one that is meant */
        bool is_held;      /* by whoever waits for its end */
        bool is_left;
};

static const struct cay_viewer everybody = { .owner = "", .sees_all = true }; /* who may was asked before */

static bool is_meant(struct interrupt *i)
{
        struct cay_exec_view view;
        struct cay_error err = { 0 };

        return cay_service_exec_get(i->world->service, &everybody, i->sandbox, i->exec, &view, &err) == 0 &&
               view.runs == i->run && view.runs_code == i->is_held;
}

static void send_line(struct interrupt *i, const char *line, void (*on_done)(struct cay_job *job))
{
        i->input = (struct cay_exec_input){ .bytes = line, .len = strlen(line) };
        cay_job_init(&i->input.job, on_done);
        cay_service_exec_input(i->world->service, &everybody, i->sandbox, i->exec, &i->input);
}

static void on_all_said(struct cay_job *job)
{
        free(cay_container_of(job, struct interrupt, input.job));
}

static void send_signal(struct interrupt *i)
{
        struct cay_error err = { 0 };

        cay_service_exec_signal(i->world->service, &everybody, i->sandbox, i->exec, SIGINT, &err);
}

/* The line stands before the next run's request, so that its kernel waits for a signal that is on its way. */
static void on_signal_time(struct cay_timer *t)
{
        struct interrupt *i = cay_container_of(t, struct interrupt, timer);

        if (!is_meant(i)) {
                free(i);
                return;
        }
        send_signal(i);
        send_line(i, "signalled\n", on_all_said);
}

static void on_said(struct cay_job *job)
{
        struct interrupt *i = cay_container_of(job, struct interrupt, input.job);

        if (i->after_ms > 0 && !i->is_left &&
            cay_timer_set(i->world->loop, &i->timer, i->after_ms, on_signal_time) == 0)
                return;
        send_signal(i);
        free(i);
}

void cay_context_interrupt(const struct cay_op_world *world, const char *sandbox, const char *exec,
                           bool is_left)
{
        struct interrupt *i = calloc(1, sizeof(*i));
        const struct cay_kernel *kernel;
        struct cay_exec_view view;
        struct cay_error err = { 0 };

        if (!i)
                return;
        i->world = world;
        i->is_left = is_left;
        cay_str_copy(i->sandbox, sizeof(i->sandbox), sandbox);
        cay_str_copy(i->exec, sizeof(i->exec), exec);
        if (cay_service_exec_get(world->service, &everybody, sandbox, exec, &view, &err) == 0) {
                i->run = view.runs;
                i->is_held = view.runs_code;
                kernel = cay_kernel_find(view.language);
                i->after_ms = kernel ? kernel->signal_after_ms : 0;
        }
        /* Of a run that is left, both lines: they have to stand before the request of another one. */
        send_line(i, is_left && i->after_ms > 0 ? "interrupt\nsignalled\n" : "interrupt\n", on_said);
}
