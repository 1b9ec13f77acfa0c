/* SPDX-License-Identifier: Apache-2.0 */
/* One request: reads its body, calls ops for it, answers it once. */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/e2b/e2b_envelope.h"
#include "dialects/e2b/e2b_request.h"
#include "domain/settings/config.h"
#include "foundation/base/cleanup.h"
#include "foundation/base/str.h"
#include "foundation/loop/loop.h"

#define ERROR_MAX 4096u
#define STREAM_TYPE "application/connect+json"

static void release_request(struct cay_deferred *d)
{
        struct e2b_request *q = cay_container_of(d, struct e2b_request, release);

        if (q->free_state)
                q->free_state(q->state);
        cay_json_in_free(q->body);
        cay_budget_owner_put(q->payer);
        free(q);
}

/* The request is returned to be ended; the rest is freed after the round. */
static struct cay_http_request *finish(struct e2b_request *q)
{
        struct cay_http_request *req = cay_take(q->req);

        if (req)
                req->handler = NULL;
        cay_guard_end(&q->guard);
        cay_rest_stream_remove(&q->stream);
        if (!q->release.run) {
                q->release.run = release_request;
                cay_loop_defer(q->world->loop, &q->release);
        }
        return req;
}

/* Answers */

void e2b_answer(struct e2b_request *q, unsigned status, const struct cay_buf *json)
{
        cay_http_response_send(finish(q), status, E2B_JSON, cay_buf_data(json), json->len);
}

void e2b_begin_json(struct cay_json *j, struct cay_buf *out)
{
        cay_buf_init(out, E2B_ANSWER_MAX);
        cay_json_init(j, out);
}

void e2b_answer_json(struct e2b_request *q, unsigned status, struct cay_json *j, const struct cay_buf *out)
{
        if (cay_json_end(j) < 0)
                e2b_fail_memory(q);
        else
                e2b_answer(q, status, out);
}

void e2b_answer_empty(struct e2b_request *q, unsigned status)
{
        cay_http_response_send(finish(q), status, NULL, NULL, 0);
}

int e2b_begin(struct e2b_request *q, const char *type, uint64_t length)
{
        q->has_begun = true;
        return cay_http_response_begin(q->req, 200, type, length);
}

ssize_t e2b_write(struct e2b_request *q, const void *bytes, size_t len)
{
        return q->req ? cay_http_response_write(q->req, bytes, len) : -EPIPE;
}

void e2b_end(struct e2b_request *q)
{
        cay_http_response_end(finish(q));
}

void e2b_cut(struct e2b_request *q)
{
        cay_http_response_abort(finish(q));
}

static void send_error(struct e2b_request *q, unsigned status, const char *connect_code, const char *message)
{
        cay_auto_buf struct cay_buf body = { 0 }, frame = { 0 };

        cay_buf_init(&body, ERROR_MAX);
        if (q->form != E2B_FORM_STREAM) {
                if (q->has_begun) {
                        e2b_cut(q);
                        return;
                }
                e2b_put_error(&body, q->form, status, connect_code, message);
                cay_http_response_send(finish(q), status,
                                       q->form == E2B_FORM_TEXT ? "text/plain; charset=utf-8" : E2B_JSON,
                                       cay_buf_data(&body), body.len);
                return;
        }
        cay_buf_init(&frame, ERROR_MAX);
        e2b_put_frame_error(&body, connect_code, message);
        e2b_envelope_put(&frame, E2B_ENVELOPE_END, cay_buf_data(&body), body.len);
        if (!q->has_begun)
                e2b_begin(q, STREAM_TYPE, CAY_HTTP_NO_LENGTH);
        e2b_write(q, cay_buf_data(&frame), frame.len);
        e2b_end(q);
}

void e2b_fail(struct e2b_request *q, const struct cay_error *err)
{
        const char *word = e2b_connect_code(err->code);

        send_error(q, q->form == E2B_FORM_UNARY ? e2b_connect_status(word) : e2b_status(err->code), word,
                   err->msg);
}

void e2b_refuse(struct e2b_request *q, enum cay_code code, const char *text, ...)
{
        struct cay_error err = { .code = code };
        va_list args;

        va_start(args, text);
        vsnprintf(err.msg, sizeof(err.msg), text, args);
        va_end(args);
        e2b_fail(q, &err);
}

void e2b_refuse_status(struct e2b_request *q, unsigned status, const char *text)
{
        send_error(q, status,
                   status == 401   ? "unauthenticated"
                   : status == 502 ? "unavailable"
                                   : "internal",
                   text);
}

void e2b_fail_memory(struct e2b_request *q)
{
        e2b_refuse(q, CAY_UNAVAILABLE, "no memory for this request");
}

/* Calls */

static struct e2b_request *of_call(struct cay_call *a)
{
        struct e2b_request *q = cay_call_user(a);

        q->ask = NULL;
        return q;
}

static void on_answer(struct cay_call *a, enum cay_op_status status, const struct cay_json_value *answer)
{
        struct e2b_request *q = of_call(a);

        (void)status;
        q->on_fail = NULL; /* it was for this call */
        q->on_answer(q, answer);
}

static void on_fail(struct cay_call *a, const struct cay_error *err, const char *field, const char *first)
{
        struct e2b_request *q = of_call(a);
        void (*handle)(struct e2b_request *, const struct cay_error *) = q->on_fail;

        (void)field;
        (void)first;
        q->on_fail = NULL;
        if (handle)
                handle(q, err);
        else
                e2b_fail(q, err);
}

static int on_begin(struct cay_call *a, const struct cay_op_bytes *bytes)
{
        struct e2b_request *q = cay_call_user(a);

        return q->stream_ops->on_begin ? q->stream_ops->on_begin(q, bytes) : 0;
}

static ssize_t on_event(struct cay_call *a, const char *id, const char *kind,
                        const struct cay_json_value *event)
{
        struct e2b_request *q = cay_call_user(a);

        (void)id;
        return q->stream_ops->on_event ? q->stream_ops->on_event(q, kind, event) : -EPIPE;
}

static ssize_t on_bytes(struct cay_call *a, const void *bytes, size_t len)
{
        struct e2b_request *q = cay_call_user(a);

        return q->stream_ops->on_bytes ? q->stream_ops->on_bytes(q, bytes, len) : -EPIPE;
}

static void on_end(struct cay_call *a, bool was_cut)
{
        struct e2b_request *q = of_call(a);

        if (q->stream_ops && q->stream_ops->on_end)
                q->stream_ops->on_end(q, was_cut);
        else
                e2b_cut(q);
}

static void on_room(struct cay_call *a)
{
        struct e2b_request *q = cay_call_user(a);

        if (q->stream_ops && q->stream_ops->on_room)
                q->stream_ops->on_room(q);
}

static const struct cay_call_ops call_ops = {
        .on_answer = on_answer,
        .on_fail = on_fail,
        .on_begin = on_begin,
        .on_event = on_event,
        .on_bytes = on_bytes,
        .on_end = on_end,
        .on_room = on_room,
};

static void call(struct e2b_request *q, const char *op, struct cay_call_args *args, bool wants_stream)
{
        const struct cay_call_what what = { .op = cay_op_find(op),
                                            .world = q->world,
                                            .caller = q->caller,
                                            .is_known = q->is_known,
                                            .dialect = CAY_OP_E2B,
                                            .wants_stream = wants_stream,
                                            .fd = -1,
                                            .args = args,
                                            .request_id = q->request_id,
                                            .ops = &call_ops,
                                            .user = q };

        q->ask = cay_call(&what);
        if (!q->ask)
                e2b_fail_memory(q);
}

void e2b_ask(struct e2b_request *q, const char *op, struct cay_call_args *args,
             void (*handle)(struct e2b_request *q, const struct cay_json_value *answer))
{
        q->on_answer = handle;
        call(q, op, args, false);
}

void e2b_ask_stream(struct e2b_request *q, const char *op, struct cay_call_args *args,
                    const struct e2b_stream_ops *ops)
{
        q->stream_ops = ops;
        call(q, op, args, true);
}

void e2b_args_begin(const struct e2b_request *q, struct cay_call_args *args)
{
        cay_call_args_begin(args);
        cay_op_key_text(&args->j, "id", q->sandbox);
}

void e2b_ask_sandbox(struct e2b_request *q, const char *op,
                     void (*handle)(struct e2b_request *q, const struct cay_json_value *answer))
{
        cay_auto_call_args struct cay_call_args args = { 0 };

        e2b_args_begin(q, &args);
        e2b_ask(q, op, &args, handle);
}

/* What the client sent */

const struct cay_json_value *e2b_member(const struct e2b_request *q, const char *name)
{
        return q->body ? cay_json_value_find(cay_json_in_root(q->body), name) : NULL;
}

const char *e2b_text(const struct cay_json_value *object, const char *name)
{
        return cay_json_value_text(cay_json_value_find(object, name));
}

bool e2b_number(const struct cay_json_value *object, const char *name, int64_t *ret)
{
        return cay_json_value_i64(cay_json_value_find(object, name), ret);
}

bool e2b_flag(const struct cay_json_value *object, const char *name, bool otherwise)
{
        const struct cay_json_value *v = cay_json_value_find(object, name);

        return cay_json_value_type(v) == CAY_JSON_BOOL ? cay_json_value_is_true(v) : otherwise;
}

int e2b_query(struct e2b_request *q, const char *name, char *room, size_t size, const char **ret)
{
        const char *query = q->req->target.query, *found = NULL;
        size_t all = query ? strlen(query) + 2 : 2;
        cay_auto_free char *text = malloc(all); /* for all of the query, however long the others are */
        int r = text ? cay_http_query_get(query, name, text, all, &found) : -1;

        if (r > 0 && cay_str_copy(room, size, found))
                *ret = room;
        else if (r > 0)
                r = -1;
        if (r >= 0)
                return r;
        e2b_refuse(q, CAY_INVALID, "%s: given twice, too long, or not encoded as a query's parameters are",
                   name);
        return -1;
}

static void on_http_body_end(struct cay_http_request *req)
{
        struct e2b_request *q = req->user;
        const struct cay_config *config = q->world->config;
        const struct cay_json_in_limits limits = { .bytes = config->max_json,
                                                   .depth = (unsigned)config->max_json_depth };
        const char *text = cay_buf_data(&req->body);
        size_t len = req->body.len;
        struct cay_error err = { 0 };

        if (q->row->flags & E2B_RAW_BODY) {
                q->on_body_end(q);
                return;
        }
        if (q->row->flags & E2B_ENVELOPED && e2b_envelope_read(text, len, &text, &len) < 0)
                e2b_refuse(q, CAY_INVALID, "the body is not one envelope with JSON");
        else if (len > 0 && cay_json_in_parse(text, len, &limits, &q->body, &err) < 0)
                e2b_fail(q, &err);
        else if (q->body && cay_json_value_type(cay_json_in_root(q->body)) != CAY_JSON_OBJECT)
                e2b_refuse(q, CAY_INVALID, "the body is not a JSON object");
        else
                q->row->run(q);
}

static size_t on_http_body(struct cay_http_request *req, const void *bytes, size_t len)
{
        struct e2b_request *q = req->user;

        return q->on_body ? q->on_body(q, bytes, len) : len;
}

static void on_http_drain(struct cay_http_request *req)
{
        struct e2b_request *q = req->user;

        if (q->ask)
                cay_call_drained(q->ask);
}

static void on_http_gone(struct cay_http_request *req, enum cay_http_gone how)
{
        struct e2b_request *q = req->user;

        if (how == CAY_HTTP_GONE_HALF && !q->on_client_gone &&
            !(q->ask && cay_call_works_for_listener(q->ask)))
                return;
        q->is_gone = true;
        if (q->on_client_gone)
                q->on_client_gone(q);
        if (q->ask)
                cay_call_gone(q->ask);
        else if (q->req)
                e2b_cut(q);
}

static const struct cay_http_handler handler = {
        .on_body = on_http_body,
        .on_body_end = on_http_body_end,
        .on_drain = on_http_drain,
        .on_gone = on_http_gone,
};

static void on_stop(struct cay_rest_stream *s)
{
        struct e2b_request *q = cay_container_of(s, struct e2b_request, stream);

        if (q->ask)
                cay_call_gone(q->ask);
        else
                e2b_cut(q);
}

/* The key was revoked. */
static void on_over(struct cay_guard *g, const char *why)
{
        (void)why;
        on_stop(&cay_container_of(g, struct e2b_request, guard)->stream);
}

void e2b_request_watch(struct e2b_request *q)
{
        q->stream.stop = on_stop;
        cay_rest_stream_add(&q->e2b->streams, &q->stream);
        cay_guard_begin(&q->guard, on_over);
}

void e2b_charge(struct e2b_request *q, struct cay_buf *b)
{
        if (!q->payer && q->world->budgets)
                q->payer = cay_budget_owner_get(q->world->budgets, q->caller.owner);
        if (q->payer)
                cay_buf_charge(b, &q->payer->budget);
}

bool e2b_may(struct e2b_request *q, const char *op)
{
        struct cay_error err = { 0 };

        if (cay_op_check_scope(cay_op_find(op), &q->caller, &err) == 0)
                return true;
        e2b_fail(q, &err);
        return false;
}

struct e2b_request *e2b_request_new(struct cay_e2b *e, const struct e2b_row *row,
                                    struct cay_http_request *req, const struct cay_visitor *v)
{
        struct e2b_request *q = calloc(1, sizeof(*q));

        if (!q)
                return NULL;
        q->e2b = e;
        q->world = e->world;
        q->req = req;
        q->row = row;
        q->form = row ? row->form : E2B_FORM_REST;
        q->caller = v->caller;
        q->is_known = v->is_known;
        q->guard.pass = v->pass;
        memcpy(q->request_id, v->request_id, sizeof(q->request_id));
        req->handler = &handler;
        req->user = q;
        return q;
}

void e2b_request_begin(struct e2b_request *q)
{
        uint64_t max = q->world->config->max_json;

        if (!(q->row->flags & E2B_TAKES_JSON) || !q->req->has_body)
                q->row->run(q);
        else if (cay_http_request_collect(q->req, max) < 0)
                e2b_refuse_status(q, 413, "the body is larger than max_json allows");
}
