/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a command: waits for its end and answers once, streams events, or leaves it in the background.
 *
 * If a waiting client goes away, its command is ended, because nobody else knows of it. A streamed or
 * background command continues, bounded by its timeout, with a copy of its input. The stream can be resumed
 * at its cursor.
 */
#include <string.h>

#include "foundation/loop/loop.h"
#include "domain/ops/exec_args.h"
#include "domain/ops/exec_stream.h"
#include "domain/ops/view.h"
#include "domain/ops/most_time.h"
#include "domain/ops/results.h"

#define OUTPUT_DEFAULT (1024u * 1024)
#define PIECE (64u * 1024)

struct sole { /* so that the rows find theirs */
        struct cay_exec_args args;
};

static const struct cay_field fields[] = {
        { "id", CAY_FIELD_TEXT, offsetof(struct cay_exec_args, id), 0, "the sandbox", .min = 1,
          .max = CAY_NAME_MAX },
        { "command", CAY_FIELD_WORDS, offsetof(struct cay_exec_args, command), CAY_FIELD_REQUIRED,
          "program and arguments as a list, or a line for /bin/sh", .max = 4096, .item_max = 128 * 1024 },
        CAY_EXEC_FIELDS(struct sole, args),
        { "env", CAY_FIELD_MAP, offsetof(struct cay_exec_args, env), 0,
          "variables, in addition to the sandbox's own", .max = 256, .item_max = 128 * 1024 },
        { "tty", CAY_FIELD_BOOL, offsetof(struct cay_exec_args, tty), 0, "give the command a terminal" },
        { "rows", CAY_FIELD_U64, offsetof(struct cay_exec_args, rows), 0, "of the terminal", .max = 65535 },
        { "cols", CAY_FIELD_U64, offsetof(struct cay_exec_args, cols), 0, "of the terminal", .max = 65535 },
        { "term", CAY_FIELD_TEXT, offsetof(struct cay_exec_args, term), 0, "TERM of the terminal",
          .max = 63 },
        { "background", CAY_FIELD_BOOL, offsetof(struct cay_exec_args, background), 0,
          "answer as soon as the command runs" },
        { "checkpoint", CAY_FIELD_BOOL, offsetof(struct cay_exec_args, checkpoint), 0,
          "make a step before it, to go back to (sandbox_undo)" },
        { "execution_id", CAY_FIELD_TEXT, offsetof(struct cay_exec_args, execution_id), 0,
          "single-use id: a second request with it runs nothing (409)", .min = 1,
          .max = CAY_SERVICE_CLAIM_MAX },
        {},
};

struct run {
        struct cay_exec_call exec;
        struct cay_exec_watcher watcher;
        struct cay_exec_input input;
        struct cay_deferred release;
        struct cay_loop *loop;
        struct cay_op_call *call; /* NULL: ended */
        char sandbox[CAY_NAME_MAX + 1];
        struct cay_buf out[2];
        struct cay_budget_owner *owner; /* who is charged; NULL: nobody */
        bool cut[2];
        char *held;   /* owned: input that outlives the call; NULL: it is the call's */
        bool started; /* the exec's job is done */
        bool feeding; /* the input's job is pending */
        bool gone;    /* the client is gone */
};

static void release_exec_run(struct cay_deferred *d)
{
        struct run *s = cay_container_of(d, struct run, release);

        cay_buf_done(&s->out[0]);
        cay_buf_done(&s->out[1]);
        cay_budget_owner_put(s->owner);
        free(s->held);
        free(s);
}

static void let_go(struct run *s)
{
        s->release.run = release_exec_run;
        cay_loop_defer(s->loop, &s->release);
}

/*
 * The call is ended or handed on. Input that is done but not reported, or that outlives the call, frees
 * itself when it is reported: at the latest when the command ends.
 */
static void finish(struct run *s)
{
        s->call = NULL;
        cay_service_exec_unwatch(&s->watcher);
        if (s->feeding && !s->held && !s->input.job.queued) {
                cay_exec_input_cancel(&s->input);
                s->feeding = false;
        }
        if (!s->feeding)
                let_go(s);
}

static void fail(struct run *s, const struct cay_error *err)
{
        struct cay_op_call *c = s->call;

        finish(s);
        cay_op_fail(c, err, NULL);
}

static const char *execution_id(const struct cay_op_call *c)
{
        const struct cay_exec_args *a = c->args;

        return a->claimed_id ? a->claimed_id : a->execution_id ? a->execution_id : c->request_id;
}

static void answer(struct run *s)
{
        struct cay_op_call *c = s->call;
        struct cay_exec_view view;
        struct cay_op_result o;

        cay_exec_watcher_view(&s->watcher, &view);
        cay_op_result_begin(&o, c);
        cay_op_put_exec(&o.j, &view, c->dialect);
        cay_op_put_bytes(&o.j, "stdout", "stdout_base64", cay_buf_data(&s->out[0]), s->out[0].len);
        cay_op_put_bytes(&o.j, "stderr", "stderr_base64", cay_buf_data(&s->out[1]), s->out[1].len);
        cay_op_key_bool(&o.j, "stdout_truncated", s->cut[0]);
        cay_op_key_bool(&o.j, "stderr_truncated", s->cut[1]);
        cay_op_key_text(&o.j, "execution_id", execution_id(c));
        finish(s);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

static void take(struct run *s, const char *bytes, const struct cay_exec_piece *piece)
{
        unsigned i = piece->stream == 2 ? 1 : 0;
        size_t room = cay_buf_left(&s->out[i]), len = piece->len < room ? piece->len : room;

        if (cay_buf_put(&s->out[i], bytes, len) < 0 || len < piece->len)
                s->cut[i] = true;
}

static void on_output(struct cay_exec_watcher *w)
{
        struct run *s = cay_container_of(w, struct run, watcher);
        char bytes[PIECE];
        struct cay_exec_piece piece;
        struct cay_error err = { 0 };
        int r;

        if (!s->call)
                return;
        while ((r = cay_exec_watcher_read(w, bytes, sizeof(bytes), &piece, &err)) != 0) {
                if (r > 0) {
                        take(s, bytes, &piece);
                } else if (err.code == CAY_CONFLICT || err.code == CAY_DAMAGED) {
                        s->cut[0] = s->cut[1] = true; /* overtaken or damaged: continues after that */
                        err = (struct cay_error){ 0 };
                } else {
                        fail(s, &err);
                        return;
                }
        }
        if (cay_exec_watcher_is_over(w))
                answer(s);
}

static void on_gone(struct cay_op_call *c)
{
        struct run *s = c->state;
        struct cay_viewer viewer = cay_op_viewer(c);

        s->gone = true;
        if (!s->started)
                return; /* then on_started ends it */
        cay_service_exec_abandon(c->world->service, &viewer, s->sandbox, s->exec.id);
        finish(s);
        cay_op_abort(c);
}

/* A command that does not read its input is no error. */
static void on_fed(struct cay_job *job)
{
        struct run *s = cay_container_of(job, struct run, input.job);

        s->feeding = false;
        if (!s->call)
                let_go(s);
}

static void feed(struct run *s, const struct cay_viewer *viewer)
{
        const struct cay_exec_args *a = s->call->args;

        if (!a->input)
                return;
        s->feeding = true;
        s->input.bytes = s->held ? s->held : a->input;
        s->input.len = strlen(a->input);
        s->input.eof = true;
        cay_job_init(&s->input.job, on_fed);
        cay_service_exec_input(s->call->world->service, viewer, s->sandbox, s->exec.id, &s->input);
}

static void answer_background(struct run *s, const struct cay_viewer *viewer)
{
        struct cay_op_call *c = s->call;
        const struct cay_op_world *world = c->world;
        struct cay_exec_view view;
        struct cay_error err = { 0 };
        struct cay_op_result o;

        if (cay_service_exec_get(world->service, viewer, s->sandbox, s->exec.id, &view, &err) < 0) {
                fail(s, &err);
                return;
        }
        cay_op_result_begin(&o, c);
        cay_op_put_exec(&o.j, &view, c->dialect);
        cay_op_key_text(&o.j, "execution_id", execution_id(c));
        finish(s);
        cay_op_result_answer(&o, c, CAY_OP_ACCEPTED);
}

static void answer_stream(struct run *s)
{
        struct cay_op_call *c = s->call;
        const struct cay_op_exec_follow how = { .execution_id = execution_id(c) };

        c->state = NULL;
        c->on_gone = NULL;
        c->works_for_listener = false;
        cay_op_exec_stream(c, s->sandbox, s->exec.id, &how);
        finish(s);
}

/* Otherwise the command continues without its call, and its input must outlive the call. */
static bool is_waiting(const struct cay_op_call *c)
{
        const struct cay_exec_args *a = c->args;

        return !a->background && !a->stream && !c->wants_stream;
}

static void on_started(struct cay_job *job)
{
        struct run *s = cay_container_of(job, struct run, exec.job);
        struct cay_op_call *c = s->call;
        const struct cay_exec_args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_error err = job->err;

        s->started = true;
        if (err.code != CAY_OK) {
                memcpy(c->first, s->exec.first, sizeof(c->first));
                fail(s, &err);
        } else if (a->background) {
                feed(s, &viewer);
                answer_background(s, &viewer);
        } else if (a->stream || c->wants_stream) {
                feed(s, &viewer);
                answer_stream(s);
        } else if (s->gone) {
                on_gone(c);
        } else {
                s->watcher.on_output = on_output;
                if (cay_service_exec_watch(c->world->service, &viewer, s->sandbox, s->exec.id, 0, false,
                                           &s->watcher, &err) < 0)
                        fail(s, &err);
        }
}

static int check(const struct cay_op_call *c, struct cay_error *err, const char **ret_field)
{
        const struct cay_exec_args *a = c->args;

        if (cay_op_check_time(c, "timeout", a->timeout_ms, err) < 0) {
                *ret_field = "timeout";
                return -1;
        }
        if (a->workdir && a->cwd) {
                *ret_field = "cwd";
                return cay_fail(err, CAY_INVALID, "cwd: the same as workdir; set only one");
        }
        if ((a->workdir && a->workdir[0] != '/') || (a->cwd && a->cwd[0] != '/')) {
                *ret_field = a->cwd ? "cwd" : "workdir";
                return cay_fail(err, CAY_INVALID, "%s: '%.80s' is not an absolute path", *ret_field,
                                a->cwd ? a->cwd : a->workdir);
        }
        if (a->background && a->stream) {
                *ret_field = "stream";
                return cay_fail(err, CAY_INVALID,
                                "stream: excludes background; attach to the command instead");
        }
        if (a->input && a->has_stdin) {
                *ret_field = "stdin";
                return cay_fail(err, CAY_INVALID, "stdin: excludes open_stdin; set only one");
        }
        if (!a->command.line && a->command.count == 0) {
                *ret_field = "command";
                return cay_fail(err, CAY_INVALID, "command: must not be empty");
        }
        return 0;
}

static int hold_input(struct run *s)
{
        const struct cay_exec_args *a = s->call->args;

        if (!a->input || is_waiting(s->call))
                return 0;
        s->held = strdup(a->input);
        return s->held ? 0 : -1;
}

/*
 * The default time limit: 0 leaves it to the service, unless that would exceed the maximum. A terminal has no
 * limit there.
 */
static uint64_t bound_default(const struct cay_op_call *c, uint64_t default_ms)
{
        uint64_t bound = cay_op_bound_time(c, default_ms);

        return bound != default_ms ? bound : 0;
}

static void run_exec_run(struct cay_op_call *c)
{
        const struct cay_exec_args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_sandbox_view view;
        struct cay_error err = { 0 };
        const char *field = NULL;
        struct run *s = NULL;
        size_t max = a->max_output ? a->max_output : OUTPUT_DEFAULT;
        struct cay_exec_new what = {
                .argv = a->command.line ? NULL : a->command.items,
                .line = a->command.line,
                .cwd = a->workdir ? a->workdir : a->cwd,
                .env = a->env,
                .user = a->user,
                .has_stdin = a->has_stdin || a->input,
                .tty = a->tty,
                .rows = (unsigned)a->rows,
                .cols = (unsigned)a->cols,
                .term = a->term,
                .background = a->background,
                .checkpoint = a->checkpoint,
                .waits = is_waiting(c) && !a->has_stdin,
                .timeout_ms = a->timeout_ms,
                .cpu_time_ms = a->cpu_time_ms,
                .output_bytes = a->output_bytes,
                .output_cut = a->output_cut,
                .claim = a->claimed_id ? NULL : a->execution_id,
        };

        if (check(c, &err, &field) < 0 ||
            cay_service_get(c->world->service, &viewer, a->id, &view, &err) < 0) {
                cay_op_fail(c, &err, field);
                return;
        }
        if (what.timeout_ms == 0)
                what.timeout_ms = bound_default(c, a->tty ? 0 : view.limits->wall_ms);
        s = cay_op_alloc(c, sizeof(*s));
        if (!s)
                return;
        s->call = c;
        s->loop = c->world->loop;
        memccpy(s->sandbox, view.id, '\0', CAY_NAME_MAX);
        cay_buf_init(&s->out[0], max);
        cay_buf_init(&s->out[1], max);
        if (c->world->budgets)
                s->owner = cay_budget_owner_get(c->world->budgets, viewer.owner);
        for (unsigned i = 0; s->owner && i < 2; i++) /* what does not fit is left out, and that is reported */
                cay_buf_charge(&s->out[i], &s->owner->budget);
        if (hold_input(s) < 0) {
                finish(s);
                cay_op_fail_memory(c);
                return;
        }
        c->state = s;
        if (is_waiting(c)) {
                c->on_gone = on_gone;
                c->works_for_listener = true;
        }
        cay_job_init(&s->exec.job, on_started);
        cay_service_exec(c->world->service, &viewer, s->sandbox, &what, &s->exec);
        if (is_waiting(c)) /* it starts when it has its input, or with it */
                feed(s, &viewer);
}

const struct cay_op cay_op_exec_run = {
        .name = "exec_run",
        .route = "POST /api/sandboxes/{id}/execute",
        .doc = "Runs a command: waits for its end, streams its output, or runs it in the background",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_STREAM | CAY_OP_INSIDE,
        .fields = fields,
        .args_size = sizeof(struct cay_exec_args),
        .result = &cay_result_exec_output,
        .other_status = CAY_OP_ACCEPTED,
        .run = run_exec_run,
};
