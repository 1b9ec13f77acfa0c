/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input for a command: the body, passed on piece by piece as the command's side takes it, so a slow command slows its client down.
 * With eof=true nothing more comes after it. A client that is cut off gives what it had given; the answer says how much.
 */
#include <string.h>

#include "loop/loop.h"
#include "op/op.h"
#include "service/exec.h"

#define PIECE (64u * 1024)

struct args {
        const char *id, *exec;
        bool eof;
};

static const struct cay_field fields[] = {
        { "id", CAY_FIELD_TEXT, offsetof(struct args, id), 0, "the sandbox", .min = 1, .max = CAY_NAME_MAX },
        { "exec", CAY_FIELD_TEXT, offsetof(struct args, exec), 0, "the command", .min = 1,
          .max = CAY_NAME_MAX },
        { "eof", CAY_FIELD_BOOL, offsetof(struct args, eof), 0, "nothing more comes after this" },
        {},
};

struct input {
        struct cay_exec_input piece;
        struct cay_deferred release;
        struct cay_loop *loop;
        struct cay_op_call *call; /* NULL: ended */
        char sandbox[CAY_NAME_MAX + 1];
        uint64_t taken;
        bool busy; /* a piece is under way */
        bool over; /* the body is complete */
        bool last; /* the piece under way is the end */
        char bytes[PIECE];
};

static void release(struct cay_deferred *d)
{
        free(cay_container_of(d, struct input, release));
}

static void let_go(struct input *s)
{
        s->release.run = release;
        cay_loop_defer(s->loop, &s->release);
}

/* A piece that is done but not told yet lets go itself, when it is told. */
static void finish(struct input *s)
{
        s->call = NULL;
        if (s->busy && !s->piece.job.queued) {
                cay_exec_input_cancel(&s->piece);
                s->busy = false;
        }
        if (!s->busy)
                let_go(s);
}

static void answer(struct input *s)
{
        struct cay_op_call *c = s->call;
        struct cay_op_json o;

        cay_op_json_begin(&o);
        cay_op_key_u64(&o.j, "bytes", s->taken);
        finish(s);
        cay_op_json_answer(&o, c, CAY_OP_OK);
}

static void send_piece(struct input *s, size_t len, bool eof);

static void on_taken(struct cay_job *job)
{
        struct input *s = cay_container_of(job, struct input, piece.job);
        struct cay_op_call *c = s->call;
        struct cay_error err = job->err;
        const struct args *a = c ? c->args : NULL;

        s->busy = false;
        if (!c) {
                let_go(s);
                return;
        }
        if (err.code != CAY_OK) {
                finish(s);
                cay_op_fail(c, &err, NULL);
                return;
        }
        s->taken += s->piece.len;
        if (!s->over)
                c->doors->resume(c);
        else if (a->eof && !s->last)
                send_piece(s, 0, true);
        else
                answer(s);
}

static void send_piece(struct input *s, size_t len, bool eof)
{
        struct cay_op_call *c = s->call;
        const struct args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);

        s->busy = true;
        s->last = eof;
        memset(&s->piece, 0, sizeof(s->piece));
        s->piece.bytes = s->bytes;
        s->piece.len = len;
        s->piece.eof = eof;
        cay_job_init(&s->piece.job, on_taken);
        cay_service_exec_input(c->world->service, &viewer, s->sandbox, a->exec, &s->piece);
}

static size_t on_body(struct cay_op_call *c, const void *bytes, size_t len)
{
        struct input *s = c->state;
        size_t n = len < PIECE ? len : PIECE;

        if (s->busy)
                return 0;
        memcpy(s->bytes, bytes, n);
        send_piece(s, n, false);
        return n;
}

static void on_body_end(struct cay_op_call *c)
{
        struct input *s = c->state;
        const struct args *a = c->args;

        s->over = true;
        if (s->busy)
                return;
        if (a->eof)
                send_piece(s, 0, true);
        else
                answer(s);
}

static void on_gone(struct cay_op_call *c)
{
        finish(c->state);
        c->doors->abort(c);
}

static void run(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_sandbox_view view;
        struct cay_exec_view exec;
        struct cay_error err = { 0 };
        struct input *s;

        if (cay_service_get(c->world->service, &viewer, a->id, &view, &err) < 0 ||
            cay_service_exec_get(c->world->service, &viewer, view.id, a->exec, &exec, &err) < 0) {
                cay_op_fail(c, &err, NULL);
                return;
        }
        s = calloc(1, sizeof(*s));
        if (!s) {
                cay_op_fail_memory(c);
                return;
        }
        s->call = c;
        s->loop = c->world->loop;
        memccpy(s->sandbox, view.id, '\0', CAY_NAME_MAX);
        c->state = s;
        c->on_body = on_body;
        c->on_body_end = on_body_end;
        c->on_gone = on_gone;
        if (c->doors->read(c) < 0) {
                cay_fail(&err, CAY_LIMIT, "the body is larger than max_body allows");
                finish(s);
                cay_op_fail(c, &err, NULL);
        }
}

const struct cay_op cay_op_exec_input = {
        .name = "exec_input",
        .route = "POST /api/sandboxes/{id}/execs/{exec}/input",
        .doc = "Gives the body to a command that was started with open_stdin",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_RAW_IN,
        .fields = fields,
        .args_size = sizeof(struct args),
        .run = run,
};
