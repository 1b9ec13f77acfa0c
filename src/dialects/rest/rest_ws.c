/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WebSocket, the third encoding of a stream of events; its rules are in rest_ws.h.
 *
 * Lifetime. Two things end, in either order: the call (over) and the WebSocket (closed; a request that was
 * never upgraded counts as closed once it was answered). The memory is freed at the end of the round in which
 * both have ended.
 */
#include "dialects/rest/rest_ws.h"

#include <errno.h>
#include <string.h>

#include "foundation/base/log.h"
#include "domain/settings/config.h"
#include "dialects/rest/rest_call.h"
#include "dialects/rest/rest_error.h"
#include "dialects/rest/rest_events.h"
#include "dialects/rest/rest_fill.h"
#include "dialects/rest/rest_order.h"
#include "foundation/http/chars.h"
#include "foundation/http/ws.h"

#define PING_MS 30000u
#define FIRST_MS 10000u /* for the first message */

struct ws_call {
        struct cay_op_call call;
        struct cay_ws ws;
        struct cay_http_request *req; /* NULL: upgraded or answered */
        struct cay_rest_args args;
        void *values; /* owned: what args fills */
        struct cay_rest_order order;
        struct cay_timer patience;
        struct cay_timer room; /* until the next message is within the rate */
        struct cay_guard guard;
        struct cay_deferred release;
        struct cay_rest_stream stream;
        struct cay_rest_stream **streams; /* borrowed: where it is told of */
        bool upgraded, closed;
        bool runs;     /* the op has it */
        bool begun;    /* its stream has begun */
        bool listens;  /* the op takes what the client says */
        bool in_order; /* an order's input is not all taken */
        bool is_paid;  /* the message that is being taken */
        bool is_mute;  /* disconnected: the op's further output is dropped */
        bool over;
};

static struct ws_call *self(struct cay_op_call *c)
{
        return cay_container_of(c, struct ws_call, call);
}

static struct ws_call *of_ws(struct cay_ws *ws)
{
        return cay_container_of(ws, struct ws_call, ws);
}

static void release_ws_call(struct cay_deferred *d)
{
        struct ws_call *w = cay_container_of(d, struct ws_call, release);

        cay_rest_order_done(&w->order);
        cay_rest_args_done(&w->args);
        free(w->values);
        free(w);
}

static void let_go_if_done(struct ws_call *w)
{
        if (!w->over || (w->upgraded && !w->closed))
                return;
        w->release.run = release_ws_call;
        cay_loop_defer(w->call.world->loop, &w->release);
}

/* The call is ended; the request, if it still exists, is returned to be answered. */
static struct cay_http_request *finish(struct ws_call *w, unsigned status)
{
        struct cay_http_request *req = cay_take(w->req);

        cay_log_debug("request", "id=%s op=%s owner=%s status=%u websocket=%d", w->call.request_id,
                      w->call.op->name, w->call.caller.owner, status, w->upgraded);
        w->over = true;
        cay_timer_clear(&w->patience);
        cay_timer_clear(&w->room);
        cay_guard_end(&w->guard);
        cay_rest_stream_remove(&w->stream);
        if (req)
                req->handler = NULL;
        let_go_if_done(w);
        return req;
}

/* The final message, and the close frame. */
static void part(struct ws_call *w, unsigned status, const char *json, size_t len, unsigned code,
                 const char *reason)
{
        if (len > 0)
                cay_ws_send(&w->ws, CAY_WS_TEXT, json, len); /* gone: on_closed tells, or has told */
        cay_ws_close(&w->ws, code, reason);
        finish(w, status);
}

/* The responder */

static void respond_answer(struct cay_op_call *c, enum cay_op_status status, struct cay_op_result *r)
{
        struct ws_call *w = self(c);
        unsigned code = cay_rest_success(status);

        if (w->upgraded)
                part(w, code, cay_buf_data(&r->text), r->text.len, CAY_WS_NORMAL, "");
        else
                cay_http_response_send(finish(w, code), code, CAY_REST_JSON, cay_buf_data(&r->text),
                                       r->text.len);
}

static void respond_fail(struct cay_op_call *c, const struct cay_error *err, const char *field)
{
        struct ws_call *w = self(c);
        cay_auto_buf struct cay_buf body = { 0 };
        unsigned status = 0;

        cay_buf_init(&body, CAY_REST_ERROR_MAX);
        cay_rest_call_error(&body, c, err, field, &status);
        if (w->upgraded)
                part(w, status, cay_buf_data(&body), body.len,
                     status < 500 ? CAY_WS_REFUSED : CAY_WS_INTERNAL, cay_code_word(err->code));
        else
                cay_http_response_send(finish(w, status), status, CAY_REST_JSON, cay_buf_data(&body),
                                       body.len);
}

static const struct cay_ws_ops ws_ops;

static void on_stop(struct cay_rest_stream *s);
static void on_over(struct cay_guard *g, const char *why);

static int upgrade(struct ws_call *w)
{
        const struct cay_ws_options options = { .message_max = w->call.world->config->max_json,
                                                .ping_ms = PING_MS };
        struct cay_http_request *req = cay_take(w->req);

        req->handler = NULL;
        w->upgraded = true;
        if (cay_ws_accept(&w->ws, req, w->call.world->loop, NULL, &options, &ws_ops) == 0) {
                w->stream.stop = on_stop;
                cay_rest_stream_add(w->streams, &w->stream);
                cay_guard_begin(&w->guard, on_over);
                return 0;
        }
        w->closed = true;
        return -EPIPE;
}

static int respond_begin(struct cay_op_call *c, const struct cay_op_bytes *bytes)
{
        struct ws_call *w = self(c);
        int r = w->is_mute    ? (w->call.works_for_listener ? -EPIPE : 0)
                : w->upgraded ? (w->closed ? -EPIPE : 0)
                              : upgrade(w);

        (void)bytes;
        w->begun = true;
        if (r == 0)
                cay_ws_resume(&w->ws); /* what was said before */
        return r;
}

static ssize_t respond_write(struct cay_op_call *c, const void *bytes, size_t len)
{
        if (self(c)->is_mute)
                return 0;
        return cay_ws_send(&self(c)->ws, CAY_WS_BINARY, bytes, len);
}

static ssize_t respond_put_event(struct cay_op_call *c, const char *id, const char *kind,
                                 struct cay_op_result *r)
{
        (void)id; /* both are in the text */
        (void)kind;
        if (self(c)->is_mute)
                return 0;
        return cay_ws_send(&self(c)->ws, CAY_WS_TEXT, cay_buf_data(&r->text), r->text.len);
}

static void respond_end(struct cay_op_call *c, bool was_cut)
{
        struct ws_call *w = self(c);

        if (!was_cut)
                part(w, 200, NULL, 0, CAY_WS_NORMAL, "");
        else if (w->upgraded)
                part(w, 0, NULL, 0, CAY_WS_INTERNAL, "the stream was cut");
        else
                cay_http_response_abort(finish(w, 0));
}

static int respond_read(struct cay_op_call *c)
{
        self(c)->listens = true;
        return 0;
}

static void respond_resume(struct cay_op_call *c)
{
        cay_ws_resume(&self(c)->ws);
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

/* What the client says */

/* The op is notified that its client is gone; its further output is dropped. */
static void leave(struct ws_call *w, unsigned code, const char *why)
{
        cay_ws_close(&w->ws, code, why);
        if (w->runs && w->call.on_gone)
                w->call.on_gone(&w->call);
        else if (!w->runs)
                finish(w, 400);
}

static void refuse(struct ws_call *w, const char *why)
{
        leave(w, CAY_WS_REFUSED, why);
}

static void on_stop(struct cay_rest_stream *s)
{
        leave(cay_container_of(s, struct ws_call, stream), CAY_WS_GOING_AWAY, "the daemon stops");
}

/*
 * Told why, then as if the client had left; but an op that would end what it runs goes on to its own end
 * (rest_call.h).
 */
static void on_over(struct cay_guard *g, const char *why)
{
        struct ws_call *w = cay_container_of(g, struct ws_call, guard);
        cay_auto_buf struct cay_buf text = { 0 };

        cay_buf_init(&text, CAY_REST_ERROR_MAX);
        if (cay_rest_let_go_put(&text, why) == 0)
                cay_ws_send(&w->ws, CAY_WS_TEXT, cay_buf_data(&text), text.len);
        cay_timer_clear(&w->room);
        if (w->runs && !w->call.works_for_listener) {
                w->is_mute = true;
                cay_ws_close(&w->ws, CAY_WS_REFUSED, why);
                if (w->begun && w->call.on_drain) /* it may be waiting for its listener */
                        w->call.on_drain(&w->call);
        } else {
                leave(w, CAY_WS_REFUSED, why);
        }
}

static void run_ws_call(struct ws_call *w)
{
        struct cay_error err = { 0 };

        if (cay_rest_args_check(&w->args, &err) < 0) {
                respond_fail(&w->call, &err, w->args.field);
                return;
        }
        w->runs = true;
        cay_op_run(&w->call);
}

static void take_first(struct ws_call *w, enum cay_ws_opcode kind, const void *bytes, size_t len)
{
        const struct cay_config *config = w->call.world->config;
        const struct cay_json_in_limits limits = { .bytes = config->max_json,
                                                   .depth = (unsigned)config->max_json_depth };
        struct cay_error err = { 0 };

        cay_timer_clear(&w->patience);
        if (kind != CAY_WS_TEXT)
                refuse(w, "the first message must be the JSON body, as text");
        else if (cay_rest_args_body(&w->args, bytes, len, &limits, &err) < 0)
                respond_fail(&w->call, &err, w->args.field);
        else
                run_ws_call(w);
}

static void on_room(struct cay_timer *t)
{
        cay_ws_resume(&cay_container_of(t, struct ws_call, room)->ws);
}

/* wait_ms: 0: none. */
static void tell_trouble(struct ws_call *w, const struct cay_error *err, uint64_t wait_ms)
{
        cay_auto_buf struct cay_buf text = { 0 };
        struct cay_json j;

        cay_buf_init(&text, CAY_REST_ERROR_MAX);
        cay_json_init(&j, &text);
        cay_json_begin_object(&j);
        cay_op_key_text(&j, "event", "error");
        cay_op_key_text(&j, "code", cay_code_word(err->code));
        cay_op_key_text(&j, "message", err->msg);
        if (wait_ms > 0)
                cay_op_key_u64(&j, "retry_after_ms", wait_ms);
        cay_json_end_object(&j);
        if (cay_json_end(&j) == 0)
                cay_ws_send(&w->ws, CAY_WS_TEXT, cay_buf_data(&text), text.len);
}

/*
 * Each message is charged as a request is. Input must not be lost, so it waits until there is room, and its
 * sender with it; an order without input can be given again, so it is refused. True: go on; false: the
 * message waits.
 */
static bool pay(struct ws_call *w, struct cay_error *err, uint64_t *ret_wait_ms)
{
        if (!w->is_paid)
                w->is_paid = cay_pass_pay(&w->guard.pass, ret_wait_ms, err) == 0;
        return w->is_paid;
}

static size_t await_room(struct ws_call *w, uint64_t wait_ms)
{
        cay_timer_set(w->call.world->loop, &w->room, wait_ms, on_room);
        return 0;
}

/* False: the op has not taken all of the order's input. */
static bool give_input(struct ws_call *w)
{
        struct cay_rest_order *o = &w->order;
        size_t n;

        while (!w->over && o->input.len > 0) {
                n = w->call.on_body(&w->call, cay_buf_data(&o->input), o->input.len);
                if (n == 0)
                        return false;
                cay_buf_drop(&o->input, n);
        }
        if (!w->over && o->eof)
                w->call.on_body_end(&w->call);
        return true;
}

/* How many bytes were taken, of a message that is paid for or can be refused. */
static size_t take_order(struct ws_call *w, const void *bytes, size_t len)
{
        struct cay_rest_order *o = &w->order;
        struct cay_error err = { 0 };
        uint64_t wait_ms = 0;

        if (!w->in_order) {
                if (cay_rest_order_read(o, bytes, len, w->call.world->config->max_json, &err) < 0) {
                        tell_trouble(w, &err, 0);
                        cay_rest_order_done(o);
                        refuse(w, "a message was invalid");
                        return len;
                }
                if (!pay(w, &err, &wait_ms)) {
                        bool waits = o->input.len > 0 || o->eof;

                        if (!waits)
                                tell_trouble(w, &err, wait_ms);
                        cay_rest_order_done(o);
                        return waits ? await_room(w, wait_ms) : len;
                }
                if (o->has_order && w->call.on_order(&w->call, &o->order, &err) < 0)
                        tell_trouble(w, &err, 0);
        }
        w->in_order = !give_input(w);
        if (w->in_order)
                return 0; /* the same message comes again, when the op takes more */
        cay_rest_order_done(o);
        return len;
}

static size_t take_message(struct ws_call *w, enum cay_ws_opcode kind, const void *bytes, size_t len)
{
        struct cay_error err = { 0 };
        uint64_t wait_ms = 0;

        if (w->runs && !w->begun)
                return 0;
        if (w->runs && !w->listens) {
                refuse(w, "this stream takes no messages from this caller");
                return len;
        }
        if (w->runs && kind == CAY_WS_TEXT)
                return take_order(w, bytes, len);
        if (!pay(w, &err, &wait_ms))
                return await_room(w, wait_ms);
        if (w->runs)
                return w->call.on_body(&w->call, bytes, len);
        take_first(w, kind, bytes, len);
        return len;
}

static size_t on_message(struct cay_ws *ws, enum cay_ws_opcode kind, const void *bytes, size_t len)
{
        struct ws_call *w = of_ws(ws);
        size_t taken;

        if (w->over || w->is_mute || !cay_guard_look(&w->guard))
                return len;
        taken = take_message(w, kind, bytes, len);
        if (taken == len)
                w->is_paid = false; /* the next one is another */
        return taken;
}

static void on_drain(struct cay_ws *ws)
{
        struct ws_call *w = of_ws(ws);

        if (!w->over && w->begun && w->call.on_drain)
                w->call.on_drain(&w->call);
}

static void on_closed(struct cay_ws *ws, unsigned code, const char *reason)
{
        struct ws_call *w = of_ws(ws);

        (void)code;
        (void)reason;
        w->closed = true;
        if (w->over)
                let_go_if_done(w);
        else if (w->is_mute)
                cay_timer_clear(&w->room); /* the op's own end is to come */
        else if (!w->runs)
                finish(w, 0);
        else if (w->call.on_gone)
                w->call.on_gone(&w->call);
}

static const struct cay_ws_ops ws_ops = {
        .on_message = on_message,
        .on_drain = on_drain,
        .on_closed = on_closed,
};

/* Beginning */

static void on_patience(struct cay_timer *t)
{
        refuse(cay_container_of(t, struct ws_call, patience), "no first message came");
}

/* Before the upgrade. */
static void on_gone(struct cay_http_request *req, enum cay_http_gone how)
{
        struct ws_call *w = req->user;

        if (how != CAY_HTTP_GONE_HALF && w->call.on_gone)
                w->call.on_gone(&w->call);
}

static const struct cay_http_handler handler = { .on_gone = on_gone };

static struct ws_call *make(const struct cay_op *op, const struct cay_op_world *world,
                            struct cay_http_request *req, const struct cay_visitor *v)
{
        struct ws_call *w = calloc(1, sizeof(*w));
        void *values = calloc(1, op->args_size ? op->args_size : 1);

        if (!w || !values) {
                free(w);
                free(values);
                return NULL;
        }
        cay_rest_call_fill(&w->call, op, world, req, v);
        w->call.responder = &responder;
        w->call.args = w->values = values;
        w->call.wants_stream = true;
        w->call.is_two_way = true;
        cay_rest_args_init(&w->args, op->fields, values);
        w->req = req;
        w->guard.pass = v->pass;
        req->handler = &handler;
        req->user = w;
        return w;
}

static void await_first(struct ws_call *w)
{
        if (upgrade(w) < 0)
                finish(w, 0);
        else
                cay_timer_set(w->call.world->loop, &w->patience, FIRST_MS, on_patience);
}

bool cay_rest_ws_wanted(const struct cay_http_request *req)
{
        const char *protocol = cay_http_request_header(req, "Upgrade");

        return req->upgrade && req->method == CAY_HTTP_GET && protocol &&
               cay_http_list_has(protocol, strlen(protocol), "websocket");
}

void cay_rest_ws(const struct cay_op_world *world, const struct cay_op *op, const struct cay_route_match *m,
                 struct cay_http_request *req, const struct cay_visitor *v, bool first_is_body,
                 struct cay_rest_stream **streams)
{
        const struct cay_http_fault *fault = cay_ws_check(req);
        struct cay_error err = { 0 };
        struct ws_call *w;

        if (fault) {
                if (fault->status == 426)
                        cay_http_response_add(req, "Sec-WebSocket-Version", "13");
                cay_rest_refuse(req, fault->status, fault->text, v->request_id);
                return;
        }
        w = make(op, world, req, v);
        if (!w) {
                cay_rest_refuse(req, 503, "no memory for this request", v->request_id);
                return;
        }
        w->streams = streams;
        if (cay_op_check_scope(op, &v->caller, &err) < 0)
                respond_fail(&w->call, &err, NULL);
        else if (cay_rest_fill(&w->args, req, m, &err) < 0)
                respond_fail(&w->call, &err, w->args.field);
        else if (first_is_body)
                await_first(w);
        else
                run_ws_call(w);
}
