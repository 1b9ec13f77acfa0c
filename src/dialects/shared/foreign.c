/* SPDX-License-Identifier: Apache-2.0 */
/* Translates requests of other APIs, calls the op, and answers. */
#include "dialects/shared/foreign.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "domain/settings/config.h"
#include "dialects/call/call.h"
#include "dialects/rest/rest_args.h"
#include "dialects/rest/rest_call.h"
#include "dialects/rest/rest_error.h"
#include "dialects/rest/rest_events.h"
#include "dialects/rest/rest_fill.h"
#include "domain/ops/result_rows.h"
#include "foundation/loop/loop.h"

struct request {
        struct cay_foreign f;
        struct cay_http_request *req; /* NULL: ended */
        const struct cay_op *op;
        struct cay_caller caller;
        char request_id[CAY_GATE_ID + 1];
        struct cay_rest_args args;
        void *values;         /* owned: what args fills */
        struct cay_call *ask; /* NULL: not yet, or over */
        struct cay_rest_events events;
        struct cay_rest_stream stream;
        struct cay_rest_stream **streams;
        struct cay_guard guard; /* while it streams */
        struct cay_deferred release;
        bool wants_stream, is_let_go;
};

static void release_foreign(struct cay_deferred *d)
{
        struct request *q = cay_container_of(d, struct request, release);

        cay_rest_args_done(&q->args);
        cay_rest_events_done(&q->events);
        free(q->values);
        free(q);
}

/* The request is returned to be ended; the rest is freed after the round. */
static struct cay_http_request *finish(struct request *q)
{
        struct cay_http_request *req = cay_take(q->req);

        if (req)
                req->handler = NULL;
        q->ask = NULL;
        cay_guard_end(&q->guard);
        cay_rest_events_done(&q->events);
        cay_rest_stream_remove(&q->stream);
        q->release.run = release_foreign;
        cay_loop_defer(q->f.world->loop, &q->release);
        return req;
}

/* Errors */

/*
 * Ops (q->ask) name their own arguments, in `field` and at the start of the text: the client knows them by
 * other names.
 */
static const char *rename_field(const struct request *q, const char *field, const char *text, char *message,
                                size_t size)
{
        size_t len = strcspn(text, ": ");
        char op_name[64] = "";
        const char *theirs = NULL;

        if (!field && text[len] == ':' && len < sizeof(op_name))
                snprintf(op_name, sizeof(op_name), "%.*s", (int)len, text);
        if (q->ask && q->f.row->their_field && (field || op_name[0]))
                theirs = q->f.row->their_field(&q->f, field ? field : op_name);
        if (theirs && text[len] == ':' && strncmp(text, field ? field : op_name, len) == 0)
                snprintf(message, size, "%s%s", theirs, text + len);
        else
                snprintf(message, size, "%s", text);
        return theirs ? theirs : field;
}

static void fail(struct request *q, const struct cay_error *err, const char *field, const char *first,
                 const char *confirm)
{
        cay_auto_buf struct cay_buf body = { 0 };
        bool asks = confirm && confirm[0];
        char message[sizeof(err->msg) + 64];
        struct cay_rest_error e = {
                .status = asks ? 428 : cay_rest_status(err->code),
                .code = asks ? cay_rest_status_code(428) : cay_code_word(err->code),
                .message = message,
                .field = rename_field(q, field, err->msg, message, sizeof(message)),
                .request_id = q->request_id,
                .reason = cay_reason_word(err->reason),
                .first = first,
                .confirm = confirm,
        };

        if (!q->req) {
                finish(q);
                return;
        }
        cay_buf_init(&body, CAY_REST_ERROR_MAX);
        cay_rest_error_put(&body, &e);
        if (e.status == 429 || e.status == 503)
                cay_http_response_add(q->req, "Retry-After", "1");
        cay_http_response_send(finish(q), e.status, CAY_REST_JSON, cay_buf_data(&body), body.len);
}

static void fail_memory(struct request *q)
{
        struct cay_error err = { 0 };

        cay_fail(&err, CAY_UNAVAILABLE, "no memory for this request");
        fail(q, &err, NULL, NULL, NULL);
}

/* Answers from the op */

static void on_answer(struct cay_call *a, enum cay_op_status status, const struct cay_json_value *answer)
{
        struct request *q = cay_call_user(a);
        unsigned code = cay_rest_success(status);
        cay_auto_buf struct cay_buf body = { 0 };
        struct cay_error err = { 0 };
        struct cay_json j;

        if (!q->req) {
                finish(q);
                return;
        }
        cay_buf_init(&body, CAY_OP_JSON_MAX);
        cay_json_init(&j, &body);
        cay_json_begin_object(&j);
        q->f.row->put_answer(&q->f, answer, &j);
        cay_json_end_object(&j);
        if (cay_json_end(&j) < 0) {
                cay_fail(&err, CAY_LIMIT, "the answer is too large");
                fail(q, &err, NULL, NULL, NULL);
                return;
        }
        cay_http_response_send(finish(q), code, CAY_REST_JSON, cay_buf_data(&body), body.len);
}

static void on_fail(struct cay_call *a, const struct cay_error *err, const char *field, const char *first)
{
        fail(cay_call_user(a), err, field, first, cay_call_confirm(a));
}

static void on_stop(struct cay_rest_stream *s)
{
        struct request *q = cay_container_of(s, struct request, stream);

        if (q->ask)
                cay_call_gone(q->ask);
}

/*
 * As in REST (rest_call.h): sends the reason; then following ends, and a running command continues unwatched.
 */
static void on_over(struct cay_guard *g, const char *why)
{
        struct request *q = cay_container_of(g, struct request, guard);
        struct cay_http_request *req;

        q->is_let_go = true;
        cay_rest_events_let_go(&q->events, why);
        if (cay_call_works_for_listener(q->ask)) {
                cay_call_gone(q->ask);
                return;
        }
        req = cay_take(q->req);
        req->handler = NULL;
        cay_rest_events_done(&q->events);
        cay_http_response_end(req);
        cay_call_drained(q->ask); /* it may be waiting for its listener */
}

/* None of the rows' ops answers with bytes. */
static int on_begin(struct cay_call *a, const struct cay_op_bytes *bytes)
{
        struct request *q = cay_call_user(a);

        if (bytes)
                return -EPIPE;
        q->stream.stop = on_stop;
        if (q->streams)
                cay_rest_stream_add(q->streams, &q->stream);
        cay_guard_begin(&q->guard, on_over);
        return cay_rest_events_begin(&q->events, q->f.world->loop, q->req);
}

static ssize_t on_event_text(struct cay_call *a, const char *id, const char *kind, const char *json,
                             size_t len)
{
        struct request *q = cay_call_user(a);

        return q->req ? cay_rest_events_put(&q->events, id, kind, json, len) : 0;
}

static void on_end(struct cay_call *a, bool was_cut)
{
        struct request *q = cay_call_user(a);
        bool has_last_words = q->is_let_go;
        struct cay_http_request *req = finish(q);

        if (req && was_cut && !has_last_words)
                cay_http_response_abort(req);
        else if (req)
                cay_http_response_end(req);
}

static const struct cay_call_ops ask_ops = {
        .on_answer = on_answer,
        .on_fail = on_fail,
        .on_begin = on_begin,
        .on_event_text = on_event_text,
        .on_end = on_end,
};

static void ask(struct request *q)
{
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct cay_error err = { 0 };
        const char *field = NULL;
        struct cay_call_what what = { .op = q->op,
                                      .world = q->f.world,
                                      .caller = q->caller,
                                      .is_known = q->f.is_known,
                                      .dialect = q->f.row->dialect,
                                      .wants_stream = q->wants_stream && q->op->flags & CAY_OP_STREAM,
                                      .fd = -1,
                                      .args = &args,
                                      .request_id = q->request_id,
                                      .ops = &ask_ops,
                                      .user = q };

        cay_call_args_begin(&args);
        if (q->f.row->put_args && q->f.row->put_args(&q->f, &args.j, &field, &err) < 0) {
                fail(q, &err, field, NULL, NULL);
                return;
        }
        q->ask = cay_call(&what);
        if (!q->ask)
                fail_memory(q);
}

/* Data from the client */

static void go_on(struct request *q)
{
        struct cay_error err = { 0 };

        if (cay_rest_args_check(&q->args, &err) < 0) {
                fail(q, &err, q->args.field, NULL, NULL);
                return;
        }
        if (q->f.row->choose)
                q->op = cay_op_find(q->f.row->choose(&q->f));
        ask(q);
}

static void on_body_end(struct cay_http_request *req)
{
        struct request *q = req->user;
        const struct cay_config *config = q->f.world->config;
        const struct cay_json_in_limits limits = { .bytes = config->max_json,
                                                   .depth = (unsigned)config->max_json_depth };
        struct cay_error err = { 0 };

        if (req->body.len > 0 &&
            cay_rest_args_body(&q->args, cay_buf_data(&req->body), req->body.len, &limits, &err) < 0)
                fail(q, &err, q->args.field, NULL, NULL);
        else
                go_on(q);
}

static void on_drain(struct cay_http_request *req)
{
        struct request *q = req->user;

        if (q->ask)
                cay_call_drained(q->ask);
}

static void on_gone(struct cay_http_request *req, enum cay_http_gone how)
{
        struct request *q = req->user;

        if (how == CAY_HTTP_GONE_HALF && !(q->ask && cay_call_works_for_listener(q->ask)))
                return;
        if (q->ask)
                cay_call_gone(q->ask);
        else
                cay_http_response_abort(finish(q));
}

static size_t on_body(struct cay_http_request *req, const void *bytes, size_t len)
{
        (void)req;
        (void)bytes;
        return len;
}

static const struct cay_http_handler handler = {
        .on_body = on_body,
        .on_body_end = on_body_end,
        .on_drain = on_drain,
        .on_gone = on_gone,
};

static void begin(struct request *q)
{
        struct cay_error err = { 0 };
        const struct cay_route_match none = { 0 };

        q->req->handler = &handler;
        q->req->user = q;
        if (cay_rest_fill(&q->args, q->req, &none, &err) < 0) {
                fail(q, &err, q->args.field, NULL, NULL);
        } else if (!q->req->has_body || q->req->method == CAY_HTTP_GET || q->req->method == CAY_HTTP_HEAD) {
                go_on(q);
        } else if (cay_http_request_collect(q->req, q->f.world->config->max_json) < 0) {
                cay_fail(&err, CAY_LIMIT, "the body is larger than max_json allows (%" PRIu64 " bytes)",
                         q->f.world->config->max_json);
                cay_rest_refuse(finish(q), 413, err.msg, q->request_id);
        }
}

static struct request *new_request(const struct cay_foreign_row *row, const struct cay_rest_place *place,
                                   struct cay_http_request *req, const struct cay_visitor *v)
{
        struct request *q = calloc(1, sizeof(*q));
        void *values = calloc(1, row->args_size ? row->args_size : 1);

        if (!q || !values) {
                free(q);
                free(values);
                return NULL;
        }
        q->req = req;
        q->values = values;
        q->op = cay_op_find(row->op);
        q->caller = v->caller;
        q->guard.pass = v->pass;
        q->streams = place->streams;
        memcpy(q->request_id, v->request_id, sizeof(q->request_id));
        q->f = (struct cay_foreign){ .row = row,
                                     .world = place->world,
                                     .args = values,
                                     .is_known = v->is_known,
                                     .request_id = q->request_id };
        cay_rest_args_init(&q->args, row->fields, values);
        cay_rest_events_init(&q->events, cay_rest_accepts(req, "text/event-stream"));
        q->wants_stream = q->events.is_sse || cay_rest_accepts(req, "application/x-ndjson");
        return q;
}

void cay_foreign_handle(const void *owner, const struct cay_rest_place *place, struct cay_http_request *req,
                        const struct cay_visitor *v)
{
        struct request *q = new_request(owner, place, req, v);

        if (q)
                begin(q);
        else
                cay_rest_refuse(req, 503, "no memory for this request", v->request_id);
}

/* For translations */

void cay_foreign_put(struct cay_json *j, const char *key, const struct cay_json_value *value)
{
        cay_json_key(j, key);
        cay_json_value_put(j, value);
}

void cay_foreign_copy(struct cay_json *j, const char *key, const struct cay_json_value *answer,
                      const char *name)
{
        cay_foreign_put(j, key, cay_json_value_find(answer, name));
}

void cay_foreign_copy_all(struct cay_json *j, const struct cay_json_value *answer, const char *const *names)
{
        for (; *names; names++)
                cay_foreign_copy(j, *names, answer, *names);
}

SHARED_RESULT(cay_foreign_result_run, NULL, TEXT("execution_id"), MAYBE("exit_code", NUMBER),
              MAYBE("signal", TEXT), MAYBE("cause", TEXT), TEXT("cause_text"), TEXT("advice"),
              TEXTS("network_hints"), NUMBER("duration_ms"), BOOL("stdout_truncated"),
              BOOL("stderr_truncated"), IF("stdout", TEXT), IF("stdout_base64", TEXT), IF("stderr", TEXT),
              IF("stderr_base64", TEXT));

void cay_foreign_copy_run(struct cay_json *j, const struct cay_json_value *answer)
{
        static const char *const same[] = { "execution_id",
                                            "exit_code",
                                            "signal",
                                            "cause",
                                            "cause_text",
                                            "advice",
                                            "network_hints",
                                            "duration_ms",
                                            "stdout_truncated",
                                            "stderr_truncated",
                                            NULL };
        static const char *const output[] = { "stdout", "stdout_base64", "stderr", "stderr_base64" };

        cay_foreign_copy_all(j, answer, same);
        for (size_t i = 0; i < CAY_COUNT(output); i++)
                if (cay_json_value_find(answer, output[i]))
                        cay_foreign_copy(j, output[i], answer, output[i]);
}

void cay_foreign_text(struct cay_json *j, const char *key, const char *value)
{
        if (value)
                cay_op_key_text(j, key, value);
}

void cay_foreign_ms(struct cay_json *j, const char *key, uint64_t ms)
{
        char text[32];

        if (ms == 0)
                return;
        snprintf(text, sizeof(text), "%" PRIu64 "ms", ms);
        cay_op_key_text(j, key, text);
}

void cay_foreign_words(struct cay_json *j, const char *key, const struct cay_field_texts *words)
{
        if (words->line) {
                cay_op_key_text(j, key, words->line);
                return;
        }
        if (words->count == 0)
                return;
        cay_json_key(j, key);
        cay_json_begin_array(j);
        for (unsigned i = 0; i < words->count; i++)
                cay_json_text(j, words->items[i]);
        cay_json_end_array(j);
}

void cay_foreign_map(struct cay_json *j, const char *key, const struct cay_field_map *map)
{
        if (map->count == 0)
                return;
        cay_json_key(j, key);
        cay_json_begin_object(j);
        for (unsigned i = 0; i < map->count; i++)
                cay_op_key_text(j, map->pairs[i].name, map->pairs[i].value);
        cay_json_end_object(j);
}
