/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Input for a command: the body, passed on piece by piece as the command's side takes it, so a slow command
 * slows its client down. With eof=true the input ends after it. What a client sent before it was cut off
 * counts; the answer says how much that was. Bytes with an offset may be sent again: they are applied once.
 */
#include "domain/ops/exec_feed.h"
#include "domain/ops/result_rows.h"

struct args {
        const char *id, *exec;
        bool eof, has_offset;
        uint64_t offset;
};

static const struct cay_field fields[] = {
        { "id", CAY_FIELD_TEXT, offsetof(struct args, id), 0, "the sandbox", .min = 1, .max = CAY_NAME_MAX },
        { "exec", CAY_FIELD_TEXT, offsetof(struct args, exec), 0, "the command", .min = 1,
          .max = CAY_NAME_MAX },
        { "eof", CAY_FIELD_BOOL, offsetof(struct args, eof), 0, "close the input after this" },
        { "offset", CAY_FIELD_U64, offsetof(struct args, offset), 0,
          "where in the command's input the body begins, counted from its first byte: what was given before "
          "is skipped, so the "
          "same request can be sent again when no answer came; the answer's offset is where the next one "
          "begins",
          .max = INT64_MAX, .given = CAY_FIELD_GIVEN(struct args, has_offset) },
        {},
};

struct input {
        struct cay_op_feed *feed;
        uint64_t taken;
        bool over; /* the body is complete */
        bool last; /* the pending piece is the end */
};

static void finish(struct input *s)
{
        cay_op_feed_free(s->feed);
        free(s);
}

static void answer(struct cay_op_call *c)
{
        struct input *s = c->state;
        const struct args *a = c->args;
        struct cay_op_result o;

        cay_op_result_begin(&o, c);
        cay_op_key_u64(&o.j, "bytes", s->taken);
        if (a->has_offset)
                cay_op_key_u64(&o.j, "offset", cay_op_feed_next(s->feed));
        finish(s);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

/* The body is complete and taken: checks whether that is all. */
static void conclude(struct cay_op_call *c)
{
        struct input *s = c->state;
        const struct args *a = c->args;

        if (!a->eof || s->last) {
                answer(c);
                return;
        }
        s->last = true;
        cay_op_feed_end(s->feed);
}

static void on_taken(struct cay_op_call *c, size_t len, const struct cay_error *err)
{
        struct input *s = c->state;

        if (err->code != CAY_OK) {
                finish(s);
                cay_op_fail(c, err, NULL);
                return;
        }
        s->taken += len;
        if (s->over)
                conclude(c);
        else
                cay_op_resume(c);
}

static size_t on_body(struct cay_op_call *c, const void *bytes, size_t len)
{
        struct input *s = c->state;

        return cay_op_feed_put(s->feed, bytes, len);
}

static void on_body_end(struct cay_op_call *c)
{
        struct input *s = c->state;

        s->over = true;
        if (!cay_op_feed_is_busy(s->feed))
                conclude(c);
}

static void on_gone(struct cay_op_call *c)
{
        finish(c->state);
        cay_op_abort(c);
}

static void run_exec_input(struct cay_op_call *c)
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
        if (s)
                s->feed = cay_op_feed_new(c, view.id, exec.id, on_taken);
        if (!s || !s->feed) {
                free(s);
                cay_op_fail_memory(c);
                return;
        }
        if (a->has_offset)
                cay_op_feed_at(s->feed, a->offset);
        c->state = s;
        c->on_body = on_body;
        c->on_body_end = on_body_end;
        c->on_gone = on_gone;
        if (cay_op_read(c) < 0) {
                cay_fail(&err, CAY_LIMIT, "the body is larger than max_body; send less");
                finish(s);
                cay_op_fail(c, &err, NULL);
        }
}

RESULT(result_fed, NULL, NUMBER("bytes"), IF("offset", NUMBER));

const struct cay_op cay_op_exec_input = {
        .name = "exec_input",
        .route = "POST /api/sandboxes/{id}/execs/{exec}/input",
        .doc = "Sends the body to the input of a command that was started with open_stdin",
        .scope = CAY_SCOPE_EXEC,
        .flags = CAY_OP_RAW_IN | CAY_OP_LIVE_IN | CAY_OP_INSIDE,
        .fields = fields,
        .args_size = sizeof(struct args),
        .result = &result_fed,
        .run = run_exec_input,
};
