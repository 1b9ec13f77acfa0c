/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One-shot: makes a sandbox, runs code or a command in it, and destroys it.
 *
 * Theory of operation. This op calls others: sandbox_create, file_write, then exec_run, each with its own
 * arguments and responder (`make`, `exec`). They define templates, limits, confirmations and commands; only
 * the order is here. exec_run's output goes to the client unchanged. The answer waits until it is stored that
 * the sandbox is gone, not until the last of its mounts is: no caller waits for that, and what fails there
 * becomes a sandbox in error, with an event.
 * If the client goes away, the run ends and the sandbox is destroyed, kept or not, unless a stream has sent
 * its id. What the request asks for is run_request.c's matter.
 */
#include <string.h>

#include "domain/ops/put_files.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/results.h"
#include "domain/ops/run_request.h"
#include "foundation/base/log.h"
#include "foundation/base/str.h"
#include "foundation/loop/loop.h"

enum word { NO_WORD, ANSWER, FAIL, END, ABORT };

struct shot {
        struct cay_op_call *call; /* the client's */
        struct cay_op_call make, exec;
        struct cay_run_request request;
        struct cay_put_files files;
        struct cay_service_call unmake;
        struct cay_deferred release;
        char sandbox[CAY_NAME_MAX + 1]; /* "": none */
        bool streams, gone;
        enum { MAKES, FILES, RUNS } phase;

        /* the answer, while the sandbox is being destroyed */
        enum word word;
        enum cay_op_status status;
        struct cay_op_result answer;
        struct cay_error err;
        const char *field;
        char field_copy[64]; /* the field name given to fail is valid only during that call */
};

static void release_one_shot(struct cay_deferred *d)
{
        struct shot *s = cay_container_of(d, struct shot, release);

        cay_op_result_done(&s->answer);
        cay_run_request_done(&s->request);
        free(s);
}

static void say(struct shot *s)
{
        struct cay_op_call *c = s->call;

        s->release.run = release_one_shot;
        cay_loop_defer(c->world->loop, &s->release);
        c->on_gone = NULL;
        switch (s->gone && s->word != FAIL ? ABORT : s->word) {
        case ANSWER:
                c->responder->answer(c, s->status, &s->answer);
                break;
        case FAIL:
                c->responder->fail(c, &s->err, s->field);
                break;
        case END:
                cay_op_end(c);
                break;
        default:
                cay_op_abort(c);
                break;
        }
}

/* A sandbox that could not be destroyed ends with its lifetime. */
static void on_unmade(struct cay_job *job)
{
        struct shot *s = cay_container_of(job, struct shot, unmake.job);

        if (job->err.code != CAY_OK && job->err.code != CAY_NOT_FOUND)
                cay_log_warn("a one-shot sandbox stays until its life ends", "id=%s sandbox=%s error=%s",
                             s->call->request_id, s->sandbox, job->err.msg);
        say(s);
}

static void finish(struct shot *s, enum word word)
{
        struct cay_viewer viewer = cay_op_viewer(s->call);

        s->word = word;
        if (s->sandbox[0] == '\0' || (s->request.keep && (!s->gone || s->streams) && word != FAIL)) {
                say(s);
                return;
        }
        s->unmake.early = true;
        cay_job_init(&s->unmake.job, on_unmade);
        cay_service_destroy(s->call->world->service, &viewer, s->sandbox, &s->unmake);
}

static void fail(struct shot *s, const struct cay_error *err, const char *field)
{
        s->err = *err;
        s->field = NULL;
        if (field) {
                cay_str_copy(s->field_copy, sizeof(s->field_copy), field);
                s->field = s->field_copy;
        }
        finish(s, FAIL);
}

/* Responder of exec_run's call */

static struct shot *of_exec(struct cay_op_call *c)
{
        return cay_container_of(c, struct shot, exec);
}

/* The lifetime and idle time of a kept sandbox. */
static void put_life(const struct shot *s, struct cay_json *j)
{
        struct cay_viewer viewer = cay_op_viewer(s->call);
        struct cay_sandbox_view view = { 0 };
        struct cay_error err = { 0 };
        bool is_there = s->request.keep &&
                        cay_service_get(s->call->world->service, &viewer, s->sandbox, &view, &err) == 0;

        cay_json_key(j, "expires_in_ms");
        if (is_there && view.expires)
                cay_json_u64(j, view.expires_in_ms);
        else
                cay_json_null(j);
        cay_json_key(j, "sandbox_idle_limit_ms");
        if (is_there)
                cay_json_u64(j, view.idle_limit_ms);
        else
                cay_json_null(j);
}

/* Our own members, at the end of the answer. */
static void exec_add_members(struct cay_op_call *c, struct cay_json *j)
{
        const struct shot *s = of_exec(c);

        cay_op_key_text(j, "template", s->request.choice.template_name);
        cay_op_key_bool(j, "kept", s->request.keep);
        put_life(s, j);
}

static void exec_answer(struct cay_op_call *c, enum cay_op_status status, struct cay_op_result *r)
{
        struct shot *s = of_exec(c);

        s->status = status;
        cay_op_result_move(&s->answer, r);
        finish(s, ANSWER);
}

static void exec_fail(struct cay_op_call *c, const struct cay_error *err, const char *field)
{
        fail(of_exec(c), err, field);
}

static int exec_begin(struct cay_op_call *c, const struct cay_op_bytes *bytes)
{
        struct shot *s = of_exec(c);

        s->streams = s->streams || !bytes;
        return cay_op_begin(s->call, bytes);
}

static void exec_end(struct cay_op_call *c, bool was_cut)
{
        struct shot *s = of_exec(c);

        s->gone = s->gone || was_cut;
        finish(s, was_cut ? ABORT : END);
}

static size_t on_body(struct cay_op_call *c, const void *bytes, size_t len)
{
        struct shot *s = c->state;

        return s->word == NO_WORD && s->exec.on_body ? s->exec.on_body(&s->exec, bytes, len) : len;
}

static void on_body_end(struct cay_op_call *c)
{
        struct shot *s = c->state;

        if (s->word == NO_WORD && s->exec.on_body_end)
                s->exec.on_body_end(&s->exec);
}

static int on_order(struct cay_op_call *c, const struct cay_op_order *order, struct cay_error *err)
{
        struct shot *s = c->state;

        if (s->word != NO_WORD || !s->exec.on_order)
                return cay_fail(err, CAY_CONFLICT, "the command has ended");
        return s->exec.on_order(&s->exec, order, err);
}

static int exec_read(struct cay_op_call *c)
{
        struct shot *s = of_exec(c);

        s->call->on_body = on_body;
        s->call->on_body_end = on_body_end;
        s->call->on_order = on_order;
        return cay_op_read(s->call);
}

/* The rest comes from the client. */
static const struct cay_op_responder exec_responder = {
        .answer = exec_answer,
        .fail = exec_fail,
        .begin = exec_begin,
        .end = exec_end,
        .read = exec_read,
};

/* The code is the command's input: no other input is allowed. */
static void start_exec(struct shot *s)
{
        const struct cay_op_call *c = s->call;
        const struct cay_run_args *a = c->args;

        s->exec = (struct cay_op_call){ .op = &cay_op_exec_run,
                                        .responder = &exec_responder,
                                        .world = c->world,
                                        .caller = c->caller,
                                        .is_known = c->is_known,
                                        .dialect = c->dialect,
                                        .args = &s->request.exec,
                                        .fd = -1,
                                        .wants_stream = c->wants_stream,
                                        .is_two_way = c->is_two_way && !a->code,
                                        .add_members = exec_add_members,
                                        .outer = s->call };
        memcpy(s->exec.request_id, c->request_id, sizeof(s->exec.request_id));
        s->request.exec.id = s->sandbox;
        s->phase = RUNS;
        cay_op_run(&s->exec);
}

static void on_files(struct cay_put_files *files, const struct cay_error *err)
{
        struct shot *s = cay_container_of(files, struct shot, files);

        if (s->gone)
                finish(s, ABORT);
        else if (err->code != CAY_OK)
                fail(s, err, "files");
        else
                start_exec(s);
}

static void start_files(struct shot *s)
{
        const struct cay_run_args *a = s->call->args;

        if (a->files.count == 0) {
                start_exec(s);
                return;
        }
        s->phase = FILES;
        s->files.on_done = on_files;
        cay_put_files_begin(&s->files, s->call, s->sandbox, &a->files);
}

/* Responder of sandbox_create's call: one JSON answer, or a failure */

static struct shot *of_make(struct cay_op_call *c)
{
        return cay_container_of(c, struct shot, make);
}

static void make_answer(struct cay_op_call *c, enum cay_op_status status, struct cay_op_result *r)
{
        struct shot *s = of_make(c);

        (void)status;
        (void)r;
        memcpy(s->sandbox, c->made, sizeof(s->sandbox));
        if (s->gone)
                finish(s, ABORT);
        else
                start_files(s);
}

static void make_fail(struct cay_op_call *c, const struct cay_error *err, const char *field)
{
        struct shot *s = of_make(c);

        memcpy(s->call->first, c->first, sizeof(c->first));
        memcpy(s->call->confirm, c->confirm, sizeof(c->confirm));
        fail(s, err, field);
}

static void make_end(struct cay_op_call *c, bool was_cut)
{
        (void)was_cut;
        finish(of_make(c), ABORT);
}

static const struct cay_op_responder make_responder = {
        .open = cay_op_open_nowhere, .answer = make_answer, .fail = make_fail, .end = make_end
};

/* The client */

static void on_gone(struct cay_op_call *c)
{
        struct shot *s = c->state;
        struct cay_op_call *sub = s->phase == RUNS ? &s->exec : &s->make;

        s->gone = true;
        if (s->word != NO_WORD)
                return;
        if (s->phase == FILES)
                cay_put_files_stop(&s->files);
        else if (sub->on_gone)
                sub->on_gone(sub);
}

static void on_drain(struct cay_op_call *c)
{
        struct shot *s = c->state;

        if (s->word == NO_WORD && s->phase == RUNS && s->exec.on_drain)
                s->exec.on_drain(&s->exec);
}

static void start_make(struct shot *s)
{
        const struct cay_op_call *c = s->call;

        s->make = (struct cay_op_call){ .op = &cay_op_sandbox_create,
                                        .responder = &make_responder,
                                        .world = c->world,
                                        .caller = c->caller,
                                        .is_known = c->is_known,
                                        .dialect = c->dialect,
                                        .args = &s->request.create,
                                        .fd = c->fd,
                                        .peer_fd = c->peer_fd };
        memcpy(s->make.request_id, c->request_id, sizeof(s->make.request_id));
        s->make.op->run(&s->make);
}

static void run_one_shot(struct cay_op_call *c)
{
        struct shot *s = calloc(1, sizeof(*s));
        const struct cay_run_args *a = c->args;
        const char *field = NULL;
        struct cay_error err = { 0 };

        if (!s) {
                cay_op_fail_memory(c);
                return;
        }
        s->call = c;
        if (cay_run_request_fill(&s->request, c, a, &field, &err) < 0) {
                fail(s, &err, field);
                return;
        }
        c->state = s;
        c->on_gone = on_gone;
        c->on_drain = on_drain;
        c->works_for_listener = !a->exec.stream && !c->wants_stream;
        start_make(s);
}

RESULT(result_run_output, "RunResult", ALSO(cay_result_exec_output), TEXT("template"), BOOL("kept"),
       MAYBE("expires_in_ms", NUMBER), MAYBE("sandbox_idle_limit_ms", NUMBER));

const struct cay_op cay_op_code_run = {
        .name = "code_run",
        .route = "POST /api/run",
        .doc = "Runs code or a command in a new sandbox, which is destroyed afterwards",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_STREAM,
        .fields = cay_run_fields,
        .args_size = sizeof(struct cay_run_args),
        .result = &result_run_output,
        .run = run_one_shot,
};
