/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One client of a browser over a WebSocket; the rules are in cdp.h.
 *
 * Lifetime. It waits for the browser (the request is still plain HTTP), then it is a WebSocket and a client
 * of the mux. Each of the two may end first and ends the other. The memory is freed at the end of the round
 * in which the WebSocket was closed, or the request answered.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/gate/gate_pass.h"
#include "dialects/browser/cdp.h"
#include "dialects/rest/rest_error.h"
#include "dialects/rest/rest_socket.h"
#include "domain/browser/browser.h"
#include "foundation/base/log.h"
#include "foundation/base/str.h"
#include "foundation/http/ws.h"
#include "foundation/loop/loop.h"

#define PING_MS 30000u

enum { PARSE_ERROR = -32700, INVALID_REQUEST = -32600 };

struct cdp_ws {
        struct cay_cdp_client client;
        struct cay_rest_socket socket;
        struct cay_browser_call start;
        struct cay_timer rate; /* until the next message is within the rate */
        struct cay_deferred release;
        struct cay_buf text; /* a message for the client, in the making */
        char sandbox[CAY_NAME_MAX + 1], owner[CAY_OWNER_MAX + 1];
        bool sees_all, is_ready, wants_version;
        bool waits;   /* for the browser */
        bool is_paid; /* the message that is being taken */
};

static struct cdp_ws *of_ws(struct cay_ws *ws)
{
        return cay_container_of(ws, struct cdp_ws, socket.ws);
}

static struct cdp_ws *of_client(struct cay_cdp_client *c)
{
        return cay_container_of(c, struct cdp_ws, client);
}

static void release_cdp(struct cay_deferred *d)
{
        struct cdp_ws *w = cay_container_of(d, struct cdp_ws, release);

        cay_buf_done(&w->text);
        free(w);
}

static void let_go(struct cdp_ws *w)
{
        cay_cdp_client_close(&w->client);
        cay_timer_clear(&w->rate);
        cay_rest_socket_end(&w->socket);
        w->release.run = release_cdp;
        cay_loop_defer(w->socket.world->loop, &w->release);
}

/* To the client */

/* What it does not read, it does not get: it would have to be kept for it. */
static void send_text(struct cdp_ws *w, int made)
{
        ssize_t r = made < 0 ? made
                             : cay_ws_send(&w->socket.ws, CAY_WS_TEXT, cay_buf_data(&w->text), w->text.len);
        bool is_large = w->text.len > CAY_WS_HIGH;

        cay_buf_clear(&w->text);
        if (is_large) {
                cay_buf_done(&w->text);
                cay_buf_init(&w->text, CAY_CDP_MESSAGE_MAX + 256);
        }
        if (r >= 0 || r == -EPIPE)
                return;
        cay_cdp_client_close(&w->client);
        cay_ws_close(&w->socket.ws, CAY_WS_TRY_LATER, "too much was not read, or there is no memory for it");
}

static void on_message_out(struct cay_cdp_client *c, const struct cay_cdp_message *in)
{
        struct cdp_ws *w = of_client(c);

        send_text(w, in->has_id ? cay_cdp_put_reply(&w->text, in->id, in->result, in->error, in->session)
                                : cay_cdp_put_event(&w->text, in->method, in->params, in->session));
}

static void on_browser_gone(struct cay_cdp_client *c, const struct cay_error *why)
{
        cay_ws_close(&of_client(c)->socket.ws,
                     why->reason == CAY_REASON_CLOSED ? CAY_WS_NORMAL : CAY_WS_INTERNAL, why->msg);
}

/* From the client */

static void on_ready(struct cay_cdp_client *c)
{
        struct cdp_ws *w = of_client(c);

        w->is_ready = true;
        cay_ws_resume(&w->socket.ws);
}

static void on_room(struct cay_cdp_client *c)
{
        cay_ws_resume(&of_client(c)->socket.ws);
}

static void on_rate(struct cay_timer *t)
{
        cay_ws_resume(&cay_container_of(t, struct cdp_ws, rate)->socket.ws);
}

static bool pay(struct cdp_ws *w)
{
        struct cay_error err = { 0 };
        uint64_t wait_ms = 0;

        if (!w->is_paid)
                w->is_paid = cay_pass_pay(&w->socket.guard.pass, &wait_ms, &err) == 0;
        if (!w->is_paid)
                cay_timer_set(w->socket.world->loop, &w->rate, wait_ms, on_rate);
        return w->is_paid;
}

static size_t on_ws_message(struct cay_ws *ws, enum cay_ws_opcode kind, const void *bytes, size_t len)
{
        struct cdp_ws *w = of_ws(ws);
        struct cay_cdp_message m;
        struct cay_cdp_refusal refusal;
        int r;

        if (!cay_guard_look(&w->socket.guard))
                return len;
        if (!w->is_ready)
                return 0;
        if (kind != CAY_WS_TEXT) {
                cay_ws_close(ws, CAY_WS_REFUSED, "messages are JSON texts");
                return len;
        }
        if (!pay(w))
                return 0;
        r = cay_cdp_message_read(bytes, len, &m);
        if (r < 0) {
                w->is_paid = false;
                send_text(w, cay_cdp_put_refusal(&w->text, m.has_id, m.id,
                                                 r == -EBADMSG ? PARSE_ERROR : INVALID_REQUEST,
                                                 r == -EBADMSG
                                                         ? "the message is not a JSON object without comments"
                                                         : "id must be an integer of 32 bits, method and "
                                                           "sessionId texts, params an object",
                                                 ""));
                return len;
        }
        r = cay_cdp_client_send(&w->client, &m, &refusal);
        if (r == -EAGAIN)
                return 0;
        w->is_paid = false; /* the next one is another message */
        if (r == 1)
                send_text(w, cay_cdp_put_refusal(&w->text, m.has_id, m.id, refusal.code, refusal.text,
                                                 m.session));
        else if (r < 0)
                cay_ws_close(ws, CAY_WS_TRY_LATER, "the browser cannot take this message now");
        return len;
}

static void on_closed(struct cay_ws *ws, unsigned code, const char *reason)
{
        (void)code;
        (void)reason;
        let_go(of_ws(ws));
}

static const struct cay_ws_ops ws_ops = { .on_message = on_ws_message, .on_closed = on_closed };

/* The request */

static void refuse(struct cdp_ws *w, const struct cay_error *err)
{
        cay_rest_socket_refuse(&w->socket, err);
        let_go(w);
}

static void upgrade(struct cdp_ws *w)
{
        const struct cay_ws_options options = { .message_max = CAY_CDP_MESSAGE_MAX,
                                                .out_max = CAY_CDP_MESSAGE_MAX,
                                                .ping_ms = PING_MS };
        struct cay_viewer viewer = { .owner = w->owner, .sees_all = w->sees_all };
        struct cay_error err = { 0 };

        w->client = (struct cay_cdp_client){ .on_ready = on_ready,
                                             .on_room = on_room,
                                             .on_message = on_message_out,
                                             .on_gone = on_browser_gone };
        if (cay_browser_connect(w->socket.world->browsers, &viewer, w->sandbox, &w->client, &err) < 0) {
                refuse(w, &err);
                return;
        }
        if (cay_rest_socket_open(&w->socket, NULL, &options, &ws_ops) < 0)
                let_go(w);
}

/* As Chromium's own: the client dials webSocketDebuggerUrl next. */
static void answer_version(struct cdp_ws *w)
{
        struct cay_viewer viewer = { .owner = w->owner, .sees_all = w->sees_all };
        struct cay_browser_view view;
        struct cay_error err = { 0 };
        cay_auto_buf struct cay_buf body = { 0 };
        struct cay_json j;
        char url[512], port[8] = "";

        if (cay_browser_get(w->socket.world->browsers, &viewer, w->sandbox, &view, &err) < 0) {
                refuse(w, &err);
                return;
        }
        if (w->socket.req->port)
                snprintf(port, sizeof(port), ":%u", w->socket.req->port);
        snprintf(url, sizeof(url), "ws%s://%.250s%s/api/sandboxes/%s/browser/cdp",
                 w->socket.req->peer.is_tls ? "s" : "",
                 w->socket.req->host[0] ? w->socket.req->host : "localhost", port, view.sandbox);
        cay_buf_init(&body, 4096);
        cay_json_init(&j, &body);
        cay_json_begin_object(&j);
        cay_op_key_text(&j, "Browser", view.product);
        cay_op_key_text(&j, "Protocol-Version", "1.3");
        cay_op_key_text(&j, "User-Agent", view.user_agent);
        cay_op_key_text(&j, "webSocketDebuggerUrl", url);
        cay_json_end_object(&j);
        if (cay_json_end(&j) < 0)
                cay_rest_refuse(cay_rest_socket_take(&w->socket), 503, "no memory for this answer",
                                w->socket.request_id);
        else
                cay_http_response_send(cay_rest_socket_take(&w->socket), 200, CAY_REST_JSON,
                                       cay_buf_data(&body), body.len);
        let_go(w);
}

static void on_started(struct cay_job *job)
{
        struct cdp_ws *w = cay_container_of(job, struct cdp_ws, start.job);

        w->waits = false;
        if (job->err.code != CAY_OK)
                refuse(w, &job->err);
        else if (w->wants_version)
                answer_version(w);
        else
                upgrade(w);
}

/* The client went while the browser was being started. */
static void on_gone(struct cay_http_request *req, enum cay_http_gone how)
{
        struct cdp_ws *w = req->user;

        if (how == CAY_HTTP_GONE_HALF || !w->waits)
                return;
        if (w->start.job.queued)
                return; /* it is about to be answered */
        cay_browser_cancel(w->socket.world->browsers, &w->start);
        cay_http_response_abort(cay_rest_socket_take(&w->socket));
        let_go(w);
}

static const struct cay_http_handler handler = { .on_gone = on_gone };

static void begin(const struct cay_rest_place *place, struct cay_http_request *req,
                  const struct cay_visitor *v, const char *sandbox, bool wants_version)
{
        struct cay_viewer viewer = { .owner = v->caller.owner,
                                     .sees_all = (v->caller.scopes & CAY_SCOPE_ADMIN) != 0 };
        struct cay_error err = { 0 };
        struct cdp_ws *w;

        if (cay_op_check_scope(cay_op_find("browser_start"), &v->caller, &err) < 0) {
                cay_rest_refuse(req, cay_rest_status(err.code), err.msg, v->request_id);
                return;
        }
        w = strlen(sandbox) <= CAY_NAME_MAX ? calloc(1, sizeof(*w)) : NULL;
        if (!w) {
                cay_rest_refuse(req, 404, "there is no sandbox of this name", v->request_id);
                return;
        }
        cay_rest_socket_init(&w->socket, place, req, v);
        w->wants_version = wants_version;
        w->sees_all = viewer.sees_all;
        cay_str_copy(w->sandbox, sizeof(w->sandbox), sandbox);
        cay_str_copy(w->owner, sizeof(w->owner), v->caller.owner);
        cay_buf_init(&w->text, CAY_CDP_MESSAGE_MAX + 256);
        req->handler = &handler;
        req->user = w;
        w->waits = true;
        cay_job_init(&w->start.job, on_started);
        cay_browser_start(w->socket.world->browsers, &viewer, w->sandbox, NULL, &w->start);
}

void cay_cdp_accept(const struct cay_rest_place *place, struct cay_http_request *req,
                    const struct cay_visitor *v, const char *sandbox)
{
        if (cay_rest_socket_check(req, v))
                begin(place, req, v, sandbox, false);
}

static void handle_cdp(const void *owner, const struct cay_rest_place *place, struct cay_http_request *req,
                       const struct cay_visitor *v)
{
        (void)owner;
        cay_cdp_accept(place, req, v, req->target.segments[2]);
}

static void handle_version(const void *owner, const struct cay_rest_place *place,
                           struct cay_http_request *req, const struct cay_visitor *v)
{
        (void)owner;
        begin(place, req, v, req->target.segments[2], true);
}

const struct cay_rest_more cay_cdp_rows[] = {
        { .row = "GET /api/sandboxes/{id}/browser/cdp", .handle = handle_cdp },
        { .row = "GET /api/sandboxes/{id}/browser/json/version", .handle = handle_version },
};
const unsigned cay_cdp_count = CAY_COUNT(cay_cdp_rows);
