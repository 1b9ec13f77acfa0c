/* SPDX-License-Identifier: Apache-2.0 */
/* Calls an op from inside the daemon; its responder calls the caller back. */
#include "dialects/call/call.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/log.h"
#include "foundation/loop/loop.h"

/* Of translated arguments: what the largest max_json can become, with room for what a translation adds. */
#define ARGS_MAX CAY_OP_JSON_MAX

struct cay_call {
        struct cay_op_call call;
        const struct cay_call_ops *ops;
        void *user;
        struct cay_json_in *doc; /* what the arguments point into */
        void *values;
        struct cay_deferred start, release;
        struct cay_error err; /* an error from before the op could run */
        char field[CAY_JSON_IN_FIELD_MAX + 1];
        bool runs;       /* the op has it */
        bool is_over;    /* the final callback was made */
        bool takes_body; /* the op asked for bytes */
        bool is_gone;    /* before it ran */
};

static struct cay_call *self(struct cay_op_call *c)
{
        return cay_container_of(c, struct cay_call, call);
}

static void release_call(struct cay_deferred *d)
{
        struct cay_call *a = cay_container_of(d, struct cay_call, release);

        cay_json_in_free(a->doc);
        free(a->values);
        free(a);
}

/* The caller may be inside cay_call_write or the like: the memory is freed after the round. */
static void finish(struct cay_call *a)
{
        a->is_over = true;
        a->release.run = release_call;
        cay_loop_defer(a->call.world->loop, &a->release);
}

static void respond_answer(struct cay_op_call *c, enum cay_op_status status, struct cay_op_result *r)
{
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = r->sink ? cay_json_tree_take(r->sink) : NULL;
        struct cay_call *a = self(c);

        if (!doc) {
                cay_op_fail_memory(c);
                return;
        }
        finish(a);
        a->ops->on_answer(a, status, cay_json_in_root(doc));
}

static void respond_fail(struct cay_op_call *c, const struct cay_error *err, const char *field)
{
        struct cay_call *a = self(c);
        struct cay_error told = *err;

        if (err->code == CAY_INTERNAL) { /* internal errors are for the log */
                cay_log_error("an operation failed", "id=%s op=%s error=%s", c->request_id, c->op->name,
                              err->msg);
                cay_fail(&told, CAY_INTERNAL,
                         "internal error; the daemon's log has details under this request_id");
        }
        finish(a);
        a->ops->on_fail(a, &told, field && field[0] ? field : NULL, c->first);
}

static int respond_begin(struct cay_op_call *c, const struct cay_op_bytes *bytes)
{
        struct cay_call *a = self(c);

        return a->ops->on_begin ? a->ops->on_begin(a, bytes) : 0;
}

static ssize_t respond_write(struct cay_op_call *c, const void *bytes, size_t len)
{
        struct cay_call *a = self(c);

        return a->ops->on_bytes ? a->ops->on_bytes(a, bytes, len) : -EPIPE;
}

static ssize_t respond_put_event(struct cay_op_call *c, const char *id, const char *kind,
                                 struct cay_op_result *r)
{
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = r->sink ? cay_json_tree_take(r->sink) : NULL;
        struct cay_call *a = self(c);

        if (a->ops->on_event_text)
                return a->ops->on_event_text(a, id, kind, cay_buf_data(&r->text), r->text.len);
        return a->ops->on_event && doc ? a->ops->on_event(a, id, kind, cay_json_in_root(doc)) : -EPIPE;
}

/* A stream without a receiver ends as an error: a final callback is always made. */
static void respond_end(struct cay_op_call *c, bool was_cut)
{
        struct cay_call *a = self(c);
        struct cay_error err = { 0 };

        finish(a);
        if (a->ops->on_end) {
                a->ops->on_end(a, was_cut);
                return;
        }
        cay_fail(&err, CAY_UNSUPPORTED, "%s answers with a stream, which is not supported here",
                 a->call.op->name);
        a->ops->on_fail(a, &err, NULL, "");
}

static int respond_read(struct cay_op_call *c)
{
        struct cay_call *a = self(c);

        a->takes_body = true;
        if (a->ops->on_room)
                a->ops->on_room(a);
        return 0;
}

static void respond_resume(struct cay_op_call *c)
{
        struct cay_call *a = self(c);

        if (a->ops->on_room)
                a->ops->on_room(a);
}

static struct cay_json_sink *respond_open(struct cay_op_call *c, bool is_event)
{
        return is_event && self(c)->ops->on_event_text
                       ? NULL
                       : cay_json_tree_new(is_event ? CAY_OP_EVENT_MAX : CAY_OP_JSON_MAX);
}

static const struct cay_op_responder responder = {
        .open = respond_open,
        .answer = respond_answer,
        .fail = respond_fail,
        .begin = respond_begin,
        .write = respond_write,
        .put_event = respond_put_event,
        .end = respond_end,
        .read = respond_read,
        .resume = respond_resume,
};

void cay_call_args_begin(struct cay_call_args *args)
{
        args->tree = cay_json_tree_new(ARGS_MAX);
        cay_json_init_sink(&args->j, args->tree ? args->tree : cay_json_nowhere());
        cay_json_begin_object(&args->j);
}

void cay_call_args_done(struct cay_call_args *args)
{
        if (!args || !args->tree)
                return;
        args->tree->free(args->tree);
        args->tree = NULL;
}

static int end_args(struct cay_call_args *args, struct cay_json_in **ret, struct cay_error *err)
{
        int r;

        cay_json_end_object(&args->j);
        r = cay_json_end(&args->j);
        if (r == 0 && args->tree)
                *ret = cay_json_tree_take(args->tree);
        return *ret ? 0 : cay_fail_sys(err, CAY_INTERNAL, r < 0 ? r : -ENOMEM, "write the arguments");
}

static int read_args(struct cay_call *a, const struct cay_call_what *what, struct cay_error *err)
{
        static const struct cay_field none[] = { { .name = NULL } };
        cay_auto_call_args struct cay_call_args no_args = { 0 };

        if (!what->args)
                cay_call_args_begin(&no_args);
        if (end_args(what->args ? what->args : &no_args, &a->doc, err) < 0)
                return -1;
        return cay_json_in_read(a->doc, cay_json_in_root(a->doc), what->op->fields ? what->op->fields : none,
                                a->values, a->field, err);
}

static bool can_stream(const struct cay_call_ops *ops)
{
        return ops->on_end && (ops->on_event || ops->on_event_text || ops->on_bytes);
}

static void start(struct cay_deferred *d)
{
        struct cay_call *a = cay_container_of(d, struct cay_call, start);

        if (a->err.code != CAY_OK) {
                respond_fail(&a->call, &a->err, a->field);
                return;
        }
        a->runs = true;
        cay_op_run(&a->call);
        if (a->is_gone && !a->is_over && a->call.on_gone)
                a->call.on_gone(&a->call);
}

struct cay_call *cay_call(const struct cay_call_what *what)
{
        struct cay_call *a = calloc(1, sizeof(*a));
        void *values = calloc(1, what->op->args_size ? what->op->args_size : 1);

        if (!a || !values) {
                cay_call_args_done(what->args);
                free(a);
                free(values);
                return NULL;
        }
        a->call = (struct cay_op_call){ .op = what->op,
                                        .responder = &responder,
                                        .world = what->world,
                                        .caller = what->caller,
                                        .is_known = what->is_known,
                                        .dialect = what->dialect,
                                        .args = values,
                                        .fd = what->fd,
                                        .wants_stream = what->wants_stream };
        a->values = values;
        a->ops = what->ops;
        a->user = what->user;
        snprintf(a->call.request_id, sizeof(a->call.request_id), "%s",
                 what->request_id ? what->request_id : "");
        if (!what->is_known && !(what->op->flags & CAY_OP_OPEN))
                cay_fail(&a->err, CAY_DENIED, "a valid token is needed");
        else if (what->wants_stream && !can_stream(what->ops))
                cay_fail(&a->err, CAY_UNSUPPORTED, "%s answers with a stream, which is not supported here",
                         what->op->name);
        else if (cay_op_check_scope(what->op, &what->caller, &a->err) == 0)
                read_args(a, what, &a->err);
        cay_call_args_done(what->args);
        a->start.run = start;
        cay_loop_defer(what->world->loop, &a->start);
        return a;
}

void *cay_call_user(const struct cay_call *a)
{
        return a->user;
}

const char *cay_call_confirm(const struct cay_call *a)
{
        return a->call.confirm;
}

bool cay_call_works_for_listener(const struct cay_call *a)
{
        return a->runs && !a->is_over && a->call.works_for_listener;
}

void cay_call_drained(struct cay_call *a)
{
        if (a->runs && !a->is_over && a->call.on_drain)
                a->call.on_drain(&a->call);
}

void cay_call_gone(struct cay_call *a)
{
        if (a->is_over)
                return;
        a->is_gone = true;
        if (a->runs && a->call.on_gone)
                a->call.on_gone(&a->call);
}

size_t cay_call_write(struct cay_call *a, const void *bytes, size_t len)
{
        if (!a->takes_body || a->is_over)
                return 0;
        return a->call.on_body ? a->call.on_body(&a->call, bytes, len) : len;
}

void cay_call_write_end(struct cay_call *a)
{
        if (a->takes_body && !a->is_over && a->call.on_body_end)
                a->call.on_body_end(&a->call);
}
