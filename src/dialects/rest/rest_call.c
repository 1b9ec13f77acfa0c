/* SPDX-License-Identifier: Apache-2.0 */
/* One request that has become a call of an op: the responder for REST. */
#include "dialects/rest/rest_call.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "foundation/base/log.h"
#include "domain/settings/config.h"
#include "dialects/rest/rest_error.h"

static struct cay_rest_call *self(struct cay_op_call *c)
{
        return cay_container_of(c, struct cay_rest_call, call);
}

static void release_rest_call(struct cay_deferred *d)
{
        struct cay_rest_call *rc = cay_container_of(d, struct cay_rest_call, release);

        cay_rest_args_done(&rc->args);
        cay_rest_events_done(&rc->events);
        free(rc->values);
        free(rc);
}

/*
 * The request is returned to be ended; the call is freed at the end of the round (we may be inside one of its
 * callbacks).
 */
static struct cay_http_request *finish(struct cay_rest_call *rc, unsigned status)
{
        struct cay_http_request *req = cay_take(rc->req);

        cay_log_debug("request", "id=%s op=%s owner=%s status=%u", rc->call.request_id, rc->call.op->name,
                      rc->call.caller.owner, status);
        if (req)
                req->handler = NULL;
        cay_guard_end(&rc->guard);
        cay_rest_events_done(&rc->events);
        cay_rest_stream_remove(&rc->stream);
        rc->release.run = release_rest_call;
        cay_loop_defer(rc->call.world->loop, &rc->release);
        return req;
}

/* Answers */

unsigned cay_rest_success(enum cay_op_status status)
{
        return status == CAY_OP_CREATED ? 201 : status == CAY_OP_ACCEPTED ? 202 : 200;
}

static void respond_answer(struct cay_op_call *c, enum cay_op_status status, struct cay_op_result *r)
{
        unsigned code = cay_rest_success(status);

        if (!self(c)->req) {
                finish(self(c), 0);
                return;
        }
        if (c->session)
                cay_gate_give_session(self(c)->req, c->session);
        cay_http_response_send(finish(self(c), code), code, CAY_REST_JSON, cay_buf_data(&r->text),
                               r->text.len);
}

static const char *public_text(const struct cay_op_call *c, const struct cay_error *err)
{
        if (err->code != CAY_INTERNAL)
                return err->msg;
        cay_log_error("request failed", "id=%s op=%s error=%s", c->request_id, c->op->name, err->msg);
        return "internal error; the daemon's log has details under this request_id";
}

void cay_rest_call_error(struct cay_buf *out, const struct cay_op_call *c, const struct cay_error *err,
                         const char *field, unsigned *status)
{
        struct cay_rest_error e = {
                .status = *status         ? *status
                          : c->confirm[0] ? 428
                                          : cay_rest_status(err->code),
                .code = *status         ? cay_rest_status_code(*status)
                        : c->confirm[0] ? cay_rest_status_code(428)
                                        : cay_code_word(err->code),
                .message = public_text(c, err),
                .field = field,
                .request_id = c->request_id,
                .reason = cay_reason_word(err->reason),
                .first = c->first,
                .confirm = c->confirm,
        };

        *status = e.status;
        cay_rest_error_put(out, &e);
}

/* How much there is, for whoever asked for a part that is not there. */
static void add_size(struct cay_http_request *req, uint64_t total)
{
        char text[40];

        snprintf(text, sizeof(text), "bytes */%" PRIu64, total);
        cay_http_response_add(req, "Content-Range", text);
}

static void respond_fail(struct cay_op_call *c, const struct cay_error *err, const char *field)
{
        struct cay_rest_call *rc = self(c);
        cay_auto_buf struct cay_buf body = { 0 };
        bool unmet = c->is_outside && rc->args.by_range;
        unsigned status = rc->too_large ? 413 : unmet ? 416 : 0;

        if (!rc->req) {
                finish(rc, 0);
                return;
        }
        cay_buf_init(&body, CAY_REST_ERROR_MAX);
        cay_rest_call_error(&body, c, err, unmet ? "Range" : field, &status);
        if (unmet)
                add_size(rc->req, c->total);
        if (status == 429 || status == 503)
                cay_http_response_add(rc->req, "Retry-After", "1");
        cay_http_response_send(finish(rc, status), status, CAY_REST_JSON, cay_buf_data(&body), body.len);
}

void cay_rest_call_fail(struct cay_rest_call *rc, const struct cay_error *err, const char *field)
{
        respond_fail(&rc->call, err, field);
}

/* Streams */

static void add_range(struct cay_http_request *req, const struct cay_op_bytes *b)
{
        char text[80];

        if (b->length == 0)
                return;
        snprintf(text, sizeof(text), "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, b->from,
                 b->from + b->length - 1, b->total);
        cay_http_response_add(req, "Content-Range", text);
}

/* A name for whoever saves it: what is not plain becomes an underscore. */
static void add_name(struct cay_http_request *req, const char *name)
{
        char text[160] = "attachment; filename=\"";
        size_t at = strlen(text);

        for (; *name && at < sizeof(text) - 2; name++)
                text[at++] = strchr("\"\\/%;", *name) || *name < 0x20 || *name >= 0x7f ? '_' : *name;
        text[at++] = '"';
        text[at] = '\0';
        cay_http_response_add(req, "Content-Disposition", text);
}

/* Its request is ended; only its op is left. */
static void mute(struct cay_rest_call *rc)
{
        struct cay_http_request *req = cay_take(rc->req);

        req->handler = NULL;
        cay_rest_events_done(&rc->events);
        cay_http_response_end(req);
        if (rc->call.on_drain) /* it may be waiting for its receiver */
                rc->call.on_drain(&rc->call);
}

static void on_over(struct cay_guard *g, const char *why)
{
        struct cay_rest_call *rc = cay_container_of(g, struct cay_rest_call, guard);

        rc->is_let_go = true;
        if (rc->events.req)
                cay_rest_events_let_go(&rc->events, why);
        if (rc->call.works_for_listener && rc->call.on_gone)
                rc->call.on_gone(&rc->call);
        else
                mute(rc);
}

static int begin_bytes(struct cay_op_call *c, const struct cay_op_bytes *b)
{
        struct cay_http_request *req = self(c)->req;
        bool is_part = b->is_part && b->length > 0;

        if (c->works_for_listener) /* what is a file ends by itself */
                cay_guard_begin(&self(c)->guard, on_over);

        if (is_part)
                add_range(req, b);
        if (b->name && b->name[0])
                add_name(req, b->name);
        if (b->length != CAY_OP_UNKNOWN_LENGTH)
                cay_http_response_add(req, "Accept-Ranges", "bytes");
        return cay_http_response_begin(req, is_part ? 206 : 200, b->type,
                                       b->length == CAY_OP_UNKNOWN_LENGTH ? CAY_HTTP_NO_LENGTH : b->length);
}

/* Disconnected: the client reconnects to the next daemon, at its cursor. */
static void on_stop(struct cay_rest_stream *s)
{
        struct cay_rest_call *rc = cay_container_of(s, struct cay_rest_call, stream);

        if (rc->call.on_gone)
                rc->call.on_gone(&rc->call);
}

static int respond_begin(struct cay_op_call *c, const struct cay_op_bytes *bytes)
{
        struct cay_rest_call *rc = self(c);

        if (bytes)
                return begin_bytes(c, bytes);
        rc->stream.stop = on_stop;
        if (rc->streams)
                cay_rest_stream_add(rc->streams, &rc->stream);
        cay_guard_begin(&rc->guard, on_over);
        return cay_rest_events_begin(&rc->events, c->world->loop, rc->req);
}

static ssize_t respond_write(struct cay_op_call *c, const void *bytes, size_t len)
{
        return self(c)->req ? cay_http_response_write(self(c)->req, bytes, len) : 0;
}

static ssize_t respond_put_event(struct cay_op_call *c, const char *id, const char *kind,
                                 struct cay_op_result *r)
{
        return self(c)->req
                       ? cay_rest_events_put(&self(c)->events, id, kind, cay_buf_data(&r->text), r->text.len)
                       : 0;
}

/* A truncated stream of bytes must not look complete; a stream of events has reported why it ends. */
static void respond_end(struct cay_op_call *c, bool was_cut)
{
        bool has_last_words = self(c)->is_let_go && self(c)->events.req;
        struct cay_http_request *req = finish(self(c), was_cut ? 0 : 200);

        if (req && (!was_cut || has_last_words))
                cay_http_response_end(req);
        else if (req)
                cay_http_response_abort(req);
}

/* Cut, as one that went away: nothing was answered yet. */
static void on_sender_over(struct cay_guard *g, const char *why)
{
        struct cay_rest_call *rc = cay_container_of(g, struct cay_rest_call, guard);

        (void)why;
        if (rc->call.on_gone)
                rc->call.on_gone(&rc->call);
}

static int respond_read(struct cay_op_call *c)
{
        struct cay_rest_call *rc = self(c);
        int r = cay_http_request_read(rc->req, c->world->config->max_body, 0);

        if (r == 0 && c->op->flags & CAY_OP_LIVE_IN)
                cay_guard_begin(&rc->guard, on_sender_over);
        rc->too_large = r == -EFBIG;
        return r;
}

static void respond_resume(struct cay_op_call *c)
{
        cay_http_request_resume(self(c)->req);
}

static const struct cay_op_responder responder = {
        .answer = respond_answer,
        .fail = respond_fail,
        .begin = respond_begin,
        .write = respond_write,
        .put_event = respond_put_event,
        .end = respond_end,
        .read = respond_read,
        .resume = respond_resume,
};

/* What the request tells */

static void run_rest_call(struct cay_rest_call *rc)
{
        struct cay_error err = { 0 };

        if (cay_rest_args_check(&rc->args, &err) < 0) {
                respond_fail(&rc->call, &err, rc->args.field);
                return;
        }
        rc->runs = true;
        cay_op_run(&rc->call);
}

static size_t on_body(struct cay_http_request *req, const void *bytes, size_t len)
{
        struct cay_rest_call *rc = req->user;

        return rc->call.on_body ? rc->call.on_body(&rc->call, bytes, len) : len;
}

static void on_collected(struct cay_rest_call *rc)
{
        const struct cay_config *config = rc->call.world->config;
        const struct cay_json_in_limits limits = { .bytes = config->max_json,
                                                   .depth = (unsigned)config->max_json_depth };
        struct cay_error err = { 0 };

        if (rc->req->body.len > 0 &&
            cay_rest_args_body(&rc->args, cay_buf_data(&rc->req->body), rc->req->body.len, &limits, &err) < 0)
                respond_fail(&rc->call, &err, rc->args.field);
        else
                run_rest_call(rc);
}

static void on_body_end(struct cay_http_request *req)
{
        struct cay_rest_call *rc = req->user;

        if (!rc->runs)
                on_collected(rc);
        else if (rc->call.on_body_end)
                rc->call.on_body_end(&rc->call);
}

static void on_drain(struct cay_http_request *req)
{
        struct cay_rest_call *rc = req->user;

        if (rc->runs && rc->call.on_drain)
                rc->call.on_drain(&rc->call);
}

static void on_gone(struct cay_http_request *req, enum cay_http_gone how)
{
        struct cay_rest_call *rc = req->user;

        if (how == CAY_HTTP_GONE_HALF && !(rc->runs && rc->call.works_for_listener))
                return;
        if (!rc->runs)
                respond_end(&rc->call, true);
        else if (rc->call.on_gone)
                rc->call.on_gone(&rc->call);
}

static const struct cay_http_handler handler = {
        .on_body = on_body,
        .on_body_end = on_body_end,
        .on_drain = on_drain,
        .on_gone = on_gone,
};

void cay_rest_call_begin(struct cay_rest_call *rc)
{
        const struct cay_op *op = rc->call.op;
        enum cay_http_method method = rc->req->method;
        struct cay_error err = { 0 };

        rc->req->handler = &handler;
        rc->req->user = rc;
        if (!rc->req->has_body || op->flags & CAY_OP_RAW_IN || method == CAY_HTTP_GET ||
            method == CAY_HTTP_HEAD) {
                run_rest_call(rc);
                return;
        }
        if (cay_http_request_collect(rc->req, rc->call.world->config->max_json) < 0) {
                rc->too_large = true;
                cay_fail(&err, CAY_LIMIT, "the body is larger than max_json allows (%" PRIu64 " bytes)",
                         rc->call.world->config->max_json);
                respond_fail(&rc->call, &err, NULL);
        }
}

void cay_rest_call_fill(struct cay_op_call *c, const struct cay_op *op, const struct cay_op_world *world,
                        const struct cay_http_request *req, const struct cay_visitor *v)
{
        c->op = op;
        c->world = world;
        c->caller = v->caller;
        c->is_known = v->is_known;
        c->fd = req->passed_fd;
        c->peer_fd = req->peer.fd;
        memcpy(c->request_id, v->request_id, sizeof(c->request_id));
}

struct cay_rest_call *cay_rest_call_new(const struct cay_op *op, const struct cay_op_world *world,
                                        struct cay_http_request *req, const struct cay_visitor *v)
{
        struct cay_rest_call *rc = calloc(1, sizeof(*rc));
        void *values = calloc(1, op->args_size ? op->args_size : 1);

        if (!rc || !values) {
                free(rc);
                free(values);
                return NULL;
        }
        cay_rest_call_fill(&rc->call, op, world, req, v);
        rc->call.responder = &responder;
        rc->call.args = rc->values = values;
        cay_rest_events_init(&rc->events, false);
        cay_rest_args_init(&rc->args, op->fields, values);
        rc->req = req;
        rc->guard.pass = v->pass;
        return rc;
}
