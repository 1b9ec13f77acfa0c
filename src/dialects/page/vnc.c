/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One viewer of a desktop over a WebSocket; the rules are in vnc.h.
 *
 * Lifetime. It waits for the desktop (the request is still plain HTTP), then it is a WebSocket and a use of
 * the desktop. Each of the two may end first and ends the other. If the viewer goes with a button down, the
 * desktop is told that it is up, and the use ends when the desktop has read that. The memory is freed at the
 * end of the round in which both have ended.
 */
#include "dialects/page/vnc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/gate/gate_pass.h"
#include "dialects/page/tty.h"
#include "dialects/rest/rest_error.h"
#include "dialects/rest/rest_socket.h"
#include "domain/desktop/seats.h"
#include "domain/desktop/viewer.h"
#include "domain/ops/desktop_use.h"
#include "foundation/base/clock.h"
#include "foundation/base/id.h"
#include "foundation/base/str.h"
#include "foundation/http/ws.h"
#include "foundation/loop/loop.h"

#define PROTOCOL "cay.desktop"
#define LEAVE_MS 5000u  /* for the desktop to read that a button is up */
#define PING_MS 15000u  /* a viewer that is silent for two of these is lost */
#define QUERY_MAX 1024u /* of a value in it */
#define MESSAGE_MAX (2u * 1024 * 1024)

struct vnc {
        struct cay_desktop_use use;
        struct cay_rfb_viewer viewer;
        struct cay_rest_socket socket;
        struct cay_timer timer; /* until the next message is within the rate; or for leaving */
        struct cay_deferred release;
        char owner[CAY_OWNER_MAX + 1];
        size_t unread;  /* bytes of the desktop that the viewer has not been sent */
        bool is_paid;   /* the message that is being taken */
        bool is_told;   /* whose input counts */
        bool is_others; /* what it was told last */
        bool is_leaving, is_over;
};

static struct vnc *of_use(struct cay_desktop_use *u)
{
        return cay_container_of(u, struct vnc, use);
}

static struct vnc *of_ws(struct cay_ws *ws)
{
        return cay_container_of(ws, struct vnc, socket.ws);
}

static void release_vnc(struct cay_deferred *d)
{
        struct vnc *n = cay_container_of(d, struct vnc, release);

        cay_viewer_done(&n->viewer);
        free(n);
}

static void let_go(struct vnc *n)
{
        if (n->is_over)
                return;
        n->is_over = true;
        cay_seat_leave(n->socket.world->seats, n->use.sandbox, n);
        cay_desktop_use_end(&n->use);
        cay_timer_clear(&n->timer);
        cay_rest_socket_end(&n->socket);
        n->release.run = release_vnc;
        cay_loop_defer(n->socket.world->loop, &n->release);
}

/* From the viewer */

static void tell_input(struct vnc *n, bool is_others)
{
        const char *text = is_others ? "{\"input\":\"others\"}" : "{\"input\":\"yours\"}";

        n->is_others = is_others;
        cay_ws_send(&n->socket.ws, CAY_WS_TEXT, text, strlen(text));
}

static bool may_act(struct cay_rfb_viewer *v)
{
        struct vnc *n = cay_container_of(v, struct vnc, viewer);

        bool may = cay_seat_take(n->socket.world->seats, n->use.sandbox, n, cay_clock_ms());

        if (n->is_told && n->is_others == may)
                tell_input(n, !may);
        return may;
}

static void on_act(struct cay_rfb_viewer *v, const struct cay_viewer_input *input)
{
        struct vnc *n = cay_container_of(v, struct vnc, viewer);

        if (input->is_pointer)
                cay_seat_point(n->socket.world->seats, n->use.sandbox, input->x, input->y, cay_clock_ms());
        cay_seat_hold(n->socket.world->seats, n->use.sandbox, n, v->holds);
}

static void send_out(struct vnc *n)
{
        while (n->viewer.out.len > 0) {
                size_t sent = cay_service_channel_write(&n->use.ch, cay_buf_data(&n->viewer.out),
                                                        n->viewer.out.len);

                if (sent == 0)
                        return; /* on_use_room comes */
                cay_buf_drop(&n->viewer.out, sent);
        }
        if (n->is_leaving)
                cay_service_channel_write_eof(&n->use.ch);
}

static void on_rate(struct cay_timer *t)
{
        cay_ws_resume(&cay_container_of(t, struct vnc, timer)->socket.ws);
}

static bool pay(struct vnc *n)
{
        struct cay_error err = { 0 };
        uint64_t wait_ms = 0;

        if (!n->is_paid)
                n->is_paid = cay_pass_pay(&n->socket.guard.pass, &wait_ms, &err) == 0;
        if (!n->is_paid)
                cay_timer_set(n->socket.world->loop, &n->timer, wait_ms, on_rate);
        return n->is_paid;
}

static size_t on_message(struct cay_ws *ws, enum cay_ws_opcode kind, const void *bytes, size_t len)
{
        struct vnc *n = of_ws(ws);
        struct cay_error err = { 0 };
        size_t taken = 0, n_taken;

        if (!cay_guard_look(&n->socket.guard))
                return len;
        if (kind != CAY_WS_BINARY) {
                cay_ws_close(ws, CAY_WS_REFUSED, "messages are binary: the bytes of RFB");
                return len;
        }
        if (!pay(n))
                return 0;
        while (taken < len && n->viewer.out.len < CAY_VIEWER_OUT_HIGH) { /* else on_use_room comes */
                if (cay_viewer_feed(&n->viewer, (const uint8_t *)bytes + taken, len - taken, &n_taken, &err) <
                    0) {
                        cay_ws_close(ws, CAY_WS_REFUSED, err.msg);
                        return len;
                }
                taken += n_taken;
                send_out(n);
        }
        if (taken == len)
                n->is_paid = false; /* the next one is another message */
        return taken;
}

static void on_late(struct cay_timer *t)
{
        let_go(cay_container_of(t, struct vnc, timer));
}

/* What was said is read before the end of the stream is; then the desktop ends the use. */
static void on_closed(struct cay_ws *ws, unsigned code, const char *reason)
{
        struct vnc *n = of_ws(ws);

        (void)code;
        (void)reason;
        cay_timer_clear(&n->timer);
        n->use.waits_for_reason = false;
        n->is_leaving = cay_viewer_leave(&n->viewer) &&
                        cay_timer_set(n->socket.world->loop, &n->timer, LEAVE_MS, on_late) == 0;
        if (n->is_leaving)
                send_out(n);
        else
                let_go(n);
}

/* From the desktop */

static void on_drain(struct cay_ws *ws)
{
        struct vnc *n = of_ws(ws);

        size_t len = n->unread;

        n->unread = 0;
        cay_service_channel_ack(&n->use.ch, len);
}

static const struct cay_ws_ops ws_ops = { .on_message = on_message,
                                          .on_drain = on_drain,
                                          .on_closed = on_closed };

static void on_use_data(struct cay_desktop_use *u, const void *bytes, size_t len)
{
        struct vnc *n = of_use(u);
        ssize_t queued;

        if (n->is_leaving) {
                cay_service_channel_ack(&u->ch, len);
                return;
        }
        queued = cay_ws_send(&n->socket.ws, CAY_WS_BINARY, bytes, len);
        if (queued == -EPIPE)
                return; /* on_closed has been, or comes */
        if (queued < 0) {
                cay_ws_close(&n->socket.ws, CAY_WS_TRY_LATER,
                             "there is no memory for what the desktop shows");
                return;
        }
        n->unread += len;
        if (queued < (ssize_t)CAY_WS_HIGH)
                on_drain(&n->socket.ws);
}

static void on_use_room(struct cay_desktop_use *u)
{
        struct vnc *n = of_use(u);

        if (n->socket.req)
                return;
        send_out(n);
        if (!n->is_leaving && n->viewer.out.len < CAY_VIEWER_OUT_HIGH)
                cay_ws_resume(&n->socket.ws);
}

/* The request */

static void refuse(struct vnc *n, const struct cay_error *err)
{
        cay_rest_socket_refuse(&n->socket, err);
        let_go(n);
}

static void on_use_open(struct cay_desktop_use *u)
{
        const struct cay_ws_options options = { .message_max = MESSAGE_MAX, .ping_ms = PING_MS };
        struct vnc *n = of_use(u);
        const char *protocol = cay_ws_offers(n->socket.req, PROTOCOL)   ? PROTOCOL
                               : cay_ws_offers(n->socket.req, "binary") ? "binary"
                                                                        : NULL;

        if (n->use.was_started)
                cay_seat_forget(n->socket.world->seats, n->use.sandbox);
        if (cay_rest_socket_open(&n->socket, protocol, &options, &ws_ops) < 0) {
                let_go(n);
                return;
        }
        n->is_told = protocol && strcmp(protocol, PROTOCOL) == 0;
}

static void on_use_fail(struct cay_desktop_use *u, const struct cay_error *err)
{
        struct vnc *n = of_use(u);

        if (n->socket.req)
                refuse(n, err);
        else if (n->is_leaving)
                let_go(n);
        else
                cay_ws_close(&n->socket.ws, CAY_WS_INTERNAL, err->msg);
}

/* The client went while the desktop was being started. */
static void on_gone(struct cay_http_request *req, enum cay_http_gone how)
{
        struct vnc *n = req->user;

        if (how == CAY_HTTP_GONE_HALF)
                return;
        cay_http_response_abort(cay_rest_socket_take(&n->socket));
        let_go(n);
}

static const struct cay_http_handler handler = { .on_gone = on_gone };

/* How noVNC's own page spells it. */
static int read_view_only(const struct cay_http_request *req, bool *ret, struct cay_error *err)
{
        char room[QUERY_MAX];
        const char *value;
        int r = cay_http_query_get(req->target.query, "view_only", room, sizeof(room), &value);
        bool is_yes = r == 1 && (strcmp(value, "1") == 0 || strcmp(value, "true") == 0);

        if (r < 0 || (r == 1 && !is_yes && strcmp(value, "0") != 0 && strcmp(value, "false") != 0))
                return cay_fail(err, CAY_INVALID, "view_only: must be 1, true, 0 or false");
        *ret = is_yes;
        return 0;
}

static struct vnc *make(const struct cay_rest_place *place, struct cay_http_request *req,
                        const struct cay_visitor *v)
{
        struct vnc *n = calloc(1, sizeof(*n));

        if (!n)
                return NULL;
        cay_rest_socket_init(&n->socket, place, req, v);
        cay_str_copy(n->owner, sizeof(n->owner), v->caller.owner);
        cay_viewer_init(&n->viewer);
        n->viewer.may_act = may_act;
        n->viewer.on_act = on_act;
        n->use.world = n->socket.world;
        n->use.viewer = (struct cay_viewer){ .owner = n->owner,
                                             .sees_all = (v->caller.scopes & CAY_SCOPE_ADMIN) != 0 };
        n->use.waits_for_reason = true;
        n->use.on_open = on_use_open;
        n->use.on_data = on_use_data;
        n->use.on_room = on_use_room;
        n->use.on_fail = on_use_fail;
        return n;
}

static void begin(struct vnc *n, struct cay_http_request *req, const struct cay_visitor *v,
                  const char *sandbox, bool only_looks)
{
        struct cay_error err = { 0 }, none = { 0 };
        bool may_start = cay_op_check_scope(cay_op_find("desktop_start"), &v->caller, &none) == 0;
        bool wishes_to_look = false;

        if (cay_op_check_scope(cay_op_find("desktop_get"), &v->caller, &err) < 0 ||
            read_view_only(req, &wishes_to_look, &err) < 0) {
                refuse(n, &err);
                return;
        }
        n->viewer.only_looks = only_looks || wishes_to_look || !may_start;
        n->use.only_running = !may_start;
        req->handler = &handler;
        req->user = n;
        if (cay_desktop_use_begin(&n->use, sandbox, &err) < 0)
                refuse(n, &err);
}

static void accept_vnc(const struct cay_rest_place *place, struct cay_http_request *req,
                       const struct cay_visitor *v, const char *sandbox, bool only_looks)
{
        struct vnc *n;

        if (!cay_rest_socket_check(req, v))
                return;
        if (strlen(sandbox) > CAY_NAME_MAX) {
                cay_rest_refuse(req, 404, "there is no sandbox of this name", v->request_id);
        } else if ((n = make(place, req, v)) == NULL) {
                cay_rest_refuse(req, 503, "no memory for this viewer", v->request_id);
        } else {
                begin(n, req, v, sandbox, only_looks);
        }
}

static const char looks[] = "view"; /* the owner of rows for those who only look */

static void handle(const void *owner, const struct cay_rest_place *place, struct cay_http_request *req,
                   const struct cay_visitor *v)
{
        accept_vnc(place, req, v, place->sandbox ? place->sandbox : req->target.segments[2], owner == looks);
}

/* Port 16080 in a browser: the page has the desktop. */
static void go_to_page(const void *owner, const struct cay_rest_place *place, struct cay_http_request *req,
                       const struct cay_visitor *v)
{
        char where[512];

        if (req->upgrade) { /* noVNC with an empty path */
                handle(owner, place, req, v);
                return;
        }
        snprintf(where, sizeof(where), "%s/#/sandbox/%s?pane=desktop",
                 place->world->url ? place->world->url : "",
                 cay_id_is_valid(place->sandbox) ? place->sandbox : "");
        cay_http_response_add(req, "Location", where);
        cay_http_response_send(req, 302, NULL, NULL, 0);
}

void cay_vnc_path(const struct cay_http_request *req, const char *sandbox, char ret[CAY_VNC_PATH_MAX])
{
        bool is_view = req->target.count > 0 && strcmp(req->target.segments[0], "view") == 0;

        snprintf(ret, CAY_VNC_PATH_MAX, "/api/sandboxes/%.*s/desktop/%s", CAY_NAME_MAX, sandbox,
                 is_view ? "view" : "ws");
}

const struct cay_rest_more cay_vnc_rows[] = {
        { .row = "GET /api/sandboxes/{id}/desktop/ws", .handle = handle },
        { .row = "GET /api/sandboxes/{id}/desktop/view", .handle = handle, .owner = looks },
        { .port = CAY_SPEC_DESKTOP_PORT, .row = "websockify", .handle = handle },
        { .port = CAY_SPEC_DESKTOP_PORT, .row = "view", .handle = handle, .owner = looks },
        { .port = CAY_SPEC_DESKTOP_PORT, .row = "", .handle = go_to_page },
        { .port = CAY_SPEC_DESKTOP_PORT, .row = "vnc.html", .handle = go_to_page },
        { .port = CAY_SPEC_DESKTOP_PORT, .row = "vnc_lite.html", .handle = go_to_page },
};
const unsigned cay_vnc_count = CAY_COUNT(cay_vnc_rows);
