/* SPDX-License-Identifier: Apache-2.0 */
/* One request: reads its body, calls ops for it, answers it once. */
#include "dialects/browserbase/bb_request.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "domain/settings/config.h"
#include "foundation/base/budget.h"
#include "foundation/base/str.h"
#include "foundation/loop/loop.h"

#define ERROR_MAX 4096u

static void release_request(struct cay_deferred *d)
{
        struct bb_request *q = cay_container_of(d, struct bb_request, release);

        if (q->free_state)
                q->free_state(q->state);
        cay_json_in_free(q->body);
        cay_budget_owner_put(q->payer);
        explicit_bzero(q->link, sizeof(q->link));
        free(q);
}

/* The request is returned to be ended; the rest is freed after the round. */
static struct cay_http_request *finish(struct bb_request *q)
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

void bb_answer(struct bb_request *q, unsigned status, const struct cay_buf *json)
{
        cay_http_response_send(finish(q), status, BB_JSON, cay_buf_data(json), json->len);
}

void bb_answer_json(struct bb_request *q, unsigned status, struct cay_json *j)
{
        if (cay_json_end(j) < 0)
                bb_fail_memory(q);
        else
                bb_answer(q, status, j->out);
}

void bb_answer_empty(struct bb_request *q, unsigned status)
{
        cay_http_response_send(finish(q), status, NULL, NULL, 0);
}

int bb_begin(struct bb_request *q, const char *type, uint64_t length)
{
        q->has_begun = true;
        return cay_http_response_begin(q->req, 200, type, length);
}

ssize_t bb_write(struct bb_request *q, const void *bytes, size_t len)
{
        return q->req ? cay_http_response_write(q->req, bytes, len) : -EPIPE;
}

void bb_end(struct bb_request *q)
{
        cay_http_response_end(finish(q));
}

void bb_cut(struct bb_request *q)
{
        cay_http_response_abort(finish(q));
}

/*
 * Errors: clients decide by the status, show `message`, and try again after 409, 429 and 5xx unless they are
 * told not to.
 */

static const struct {
        unsigned status;
        const char *word;
} words[] = { { 400, "Bad Request" },
              { 401, "Unauthorized" },
              { 403, "Forbidden" },
              { 404, "Not Found" },
              { 405, "Method Not Allowed" },
              { 409, "Conflict" },
              { 410, "Gone" },
              { 413, "Payload Too Large" },
              { 422, "Unprocessable Entity" },
              { 429, "Too Many Requests" },
              { 500, "Internal Server Error" },
              { 501, "Not Implemented" },
              { 503, "Service Unavailable" },
              { 504, "Gateway Timeout" },
              { 507, "Insufficient Storage" } };

static const char *word_of(unsigned status)
{
        for (unsigned i = 0; i < CAY_COUNT(words); i++)
                if (words[i].status == status)
                        return words[i].word;
        return "Error";
}

void bb_refuse_plain(struct cay_http_request *req, unsigned status, const char *text)
{
        cay_auto_buf struct cay_buf body = { 0 };
        struct cay_json j;

        cay_buf_init(&body, ERROR_MAX);
        cay_json_init(&j, &body);
        cay_json_begin_object(&j);
        cay_op_key_u64(&j, "statusCode", status);
        cay_op_key_text(&j, "error", word_of(status));
        cay_op_key_text(&j, "message", text);
        cay_json_end_object(&j);
        if (status != 429 && status != 503)
                cay_http_response_add(req, "X-Should-Retry", "false");
        cay_http_response_send(req, status, BB_JSON, cay_buf_data(&body), body.len);
}

static unsigned status_of(const struct cay_error *err)
{
        static const unsigned statuses[] = {
                [CAY_OK] = 500,          [CAY_INVALID] = 400,  [CAY_NOT_FOUND] = 404, [CAY_EXISTS] = 409,
                [CAY_DENIED] = 403,      [CAY_CONFLICT] = 409, [CAY_LIMIT] = 429,     [CAY_UNSUPPORTED] = 422,
                [CAY_UNAVAILABLE] = 503, [CAY_TIMEOUT] = 504,  [CAY_NO_SPACE] = 507,  [CAY_INTERNAL] = 500,
                [CAY_DAMAGED] = 410,
        };

        static_assert(CAY_COUNT(statuses) == CAY_CODE_COUNT, "every code has a status");
        if (err->reason == CAY_REASON_TOO_LARGE)
                return 413;
        return (unsigned)err->code < CAY_CODE_COUNT ? statuses[err->code] : 500;
}

void bb_refuse_status(struct bb_request *q, unsigned status, const char *text)
{
        if (q->has_begun)
                bb_cut(q);
        else
                bb_refuse_plain(finish(q), status, text);
}

void bb_fail(struct bb_request *q, const struct cay_error *err)
{
        bb_refuse_status(q, status_of(err), err->msg);
}

void bb_refuse(struct bb_request *q, enum cay_code code, const char *text, ...)
{
        struct cay_error err = { .code = code };
        va_list args;

        va_start(args, text);
        vsnprintf(err.msg, sizeof(err.msg), text, args);
        va_end(args);
        bb_fail(q, &err);
}

void bb_fail_memory(struct bb_request *q)
{
        bb_refuse(q, CAY_UNAVAILABLE, "no memory for this request");
}

/* Calls */

static struct bb_request *of_call(struct cay_call *a)
{
        struct bb_request *q = cay_call_user(a);

        q->ask = NULL;
        return q;
}

static void on_answer(struct cay_call *a, enum cay_op_status status, const struct cay_json_value *answer)
{
        struct bb_request *q = of_call(a);

        (void)status;
        q->on_fail = NULL; /* it was for this call */
        q->on_answer(q, answer);
}

static void on_fail(struct cay_call *a, const struct cay_error *err, const char *field, const char *first)
{
        struct bb_request *q = of_call(a);
        void (*handle)(struct bb_request *, const struct cay_error *) = q->on_fail;

        (void)field;
        (void)first;
        q->on_fail = NULL;
        if (handle)
                handle(q, err);
        else
                bb_fail(q, err);
}

static int on_begin(struct cay_call *a, const struct cay_op_bytes *bytes)
{
        struct bb_request *q = cay_call_user(a);

        return q->stream_ops && q->stream_ops->on_begin ? q->stream_ops->on_begin(q, bytes) : 0;
}

static ssize_t on_bytes(struct cay_call *a, const void *bytes, size_t len)
{
        struct bb_request *q = cay_call_user(a);

        return q->stream_ops && q->stream_ops->on_bytes ? q->stream_ops->on_bytes(q, bytes, len) : -EPIPE;
}

static void on_end(struct cay_call *a, bool was_cut)
{
        struct bb_request *q = of_call(a);

        if (q->stream_ops && q->stream_ops->on_end)
                q->stream_ops->on_end(q, was_cut);
        else
                bb_cut(q);
}

static void on_room(struct cay_call *a)
{
        struct bb_request *q = cay_call_user(a);

        if (q->stream_ops && q->stream_ops->on_room)
                q->stream_ops->on_room(q);
}

static const struct cay_call_ops call_ops = {
        .on_answer = on_answer,
        .on_fail = on_fail,
        .on_begin = on_begin,
        .on_bytes = on_bytes,
        .on_end = on_end,
        .on_room = on_room,
};

static void call(struct bb_request *q, const char *op, struct cay_call_args *args, bool wants_stream)
{
        const struct cay_call_what what = { .op = cay_op_find(op),
                                            .world = q->world,
                                            .caller = q->caller,
                                            .is_known = true,
                                            .dialect = CAY_OP_BROWSERBASE,
                                            .wants_stream = wants_stream,
                                            .fd = -1,
                                            .args = args,
                                            .request_id = q->request_id,
                                            .ops = &call_ops,
                                            .user = q };

        q->ask = cay_call(&what);
        if (!q->ask)
                bb_fail_memory(q);
}

void bb_ask(struct bb_request *q, const char *op, struct cay_call_args *args,
            void (*handle)(struct bb_request *q, const struct cay_json_value *answer))
{
        q->on_answer = handle;
        call(q, op, args, false);
}

void bb_ask_stream(struct bb_request *q, const char *op, struct cay_call_args *args,
                   const struct bb_stream_ops *ops)
{
        q->stream_ops = ops;
        call(q, op, args, true);
}

void bb_args_begin(const struct bb_request *q, struct cay_call_args *args)
{
        cay_call_args_begin(args);
        cay_op_key_text(&args->j, "id", q->id);
}

void bb_ask_session(struct bb_request *q, const char *op,
                    void (*handle)(struct bb_request *q, const struct cay_json_value *answer))
{
        cay_auto_call_args struct cay_call_args args = { 0 };

        bb_args_begin(q, &args);
        bb_ask(q, op, &args, handle);
}

void bb_charge(struct bb_request *q, struct cay_buf *b)
{
        if (!q->payer && q->world->budgets)
                q->payer = cay_budget_owner_get(q->world->budgets, q->caller.owner);
        if (q->payer)
                cay_buf_charge(b, &q->payer->budget);
}

/* What HTTP brings */

int bb_query(struct bb_request *q, const char *name, char *room, size_t size, const char **ret)
{
        int r = cay_http_query_get(q->req->target.query, name, room, size, ret);

        if (r >= 0)
                return r;
        bb_refuse(q, CAY_INVALID, "%s: given twice, too long, or not encoded as a query's parameters are",
                  name);
        return -1;
}

static void on_http_body_end(struct cay_http_request *req)
{
        struct bb_request *q = req->user;
        const struct cay_config *config = q->world->config;
        const struct cay_json_in_limits limits = { .bytes = config->max_json,
                                                   .depth = (unsigned)config->max_json_depth };
        struct cay_error err = { 0 };

        if (q->row->flags & BB_RAW_BODY)
                q->on_body_end(q);
        else if (req->body.len > 0 &&
                 cay_json_in_parse(cay_buf_data(&req->body), req->body.len, &limits, &q->body, &err) < 0)
                bb_fail(q, &err);
        else if (q->body && cay_json_value_type(cay_json_in_root(q->body)) != CAY_JSON_OBJECT)
                bb_refuse(q, CAY_INVALID, "the body is not a JSON object");
        else
                q->row->run(q);
}

static size_t on_http_body(struct cay_http_request *req, const void *bytes, size_t len)
{
        struct bb_request *q = req->user;

        return q->on_body ? q->on_body(q, bytes, len) : len;
}

static void on_http_drain(struct cay_http_request *req)
{
        struct bb_request *q = req->user;

        if (q->ask)
                cay_call_drained(q->ask);
}

static void on_http_gone(struct cay_http_request *req, enum cay_http_gone how)
{
        struct bb_request *q = req->user;

        if (how == CAY_HTTP_GONE_HALF)
                return;
        q->is_gone = true;
        if (q->row->flags & BB_FINISHES && q->ask)
                return;
        if (q->ask)
                cay_call_gone(q->ask);
        else if (q->req)
                bb_cut(q);
}

static const struct cay_http_handler handler = {
        .on_body = on_http_body,
        .on_body_end = on_http_body_end,
        .on_drain = on_http_drain,
        .on_gone = on_http_gone,
};

static void on_stop(struct cay_rest_stream *s)
{
        struct bb_request *q = cay_container_of(s, struct bb_request, stream);

        if (q->ask)
                cay_call_gone(q->ask);
        else if (q->req)
                bb_cut(q);
}

/* The key was revoked. */
static void on_over(struct cay_guard *g, const char *why)
{
        (void)why;
        on_stop(&cay_container_of(g, struct bb_request, guard)->stream);
}

struct bb_request *bb_request_new(struct cay_bb *bb, const struct bb_row *row, struct cay_http_request *req,
                                  const struct cay_visitor *v)
{
        struct bb_request *q = calloc(1, sizeof(*q));

        if (!q)
                return NULL;
        q->bb = bb;
        q->world = bb->world;
        q->req = req;
        q->row = row;
        q->caller = v->caller;
        q->guard.pass = v->pass;
        memcpy(q->request_id, v->request_id, sizeof(q->request_id));
        req->handler = &handler;
        req->user = q;
        if (!(row->flags & BB_FINISHES) && v->is_known) {
                q->stream.stop = on_stop;
                cay_rest_stream_add(&bb->streams, &q->stream);
                cay_guard_begin(&q->guard, on_over);
        }
        return q;
}

void bb_request_begin(struct bb_request *q)
{
        uint64_t max = q->world->config->max_json;

        if (!(q->row->flags & BB_TAKES_JSON) || !q->req->has_body)
                q->row->run(q);
        else if (cay_http_request_collect(q->req, max) < 0)
                bb_refuse_status(q, 413, "the body is larger than max_json allows");
}
