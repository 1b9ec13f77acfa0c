/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One viewer of a browser over a WebSocket; the rules are in live.h.
 *
 * Lifetime. It waits for the browser (the request is still plain HTTP), then it is a WebSocket and a viewer
 * of the screen. Each of the two may end first and ends the other. The memory is freed at the end of the
 * round in which the WebSocket was closed, or the request answered.
 */
#include "domain/browser/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/gate/gate_pass.h"
#include "dialects/browser/live.h"
#include "dialects/rest/rest_error.h"
#include "foundation/base/str.h"
#include "foundation/http/ws.h"
#include "foundation/loop/loop.h"

#define PING_MS 15000u /* a viewer that is silent for two of these is lost */
#define OUT_MAX (2 * CAY_LIVE_FRAME_MAX + (256u << 10))
#define TEXT_MAX (1u << 20)
#define ON_THEIR_WAY 2u /* frames */

struct live_ws {
        struct cay_live_viewer viewer;
        struct cay_ws ws;
        struct cay_browser_call start;
        struct cay_http_request *req; /* NULL: upgraded or answered */
        const struct cay_op_world *world;
        struct cay_rest_stream **streams;
        struct cay_rest_stream stream;
        struct cay_guard guard;
        struct cay_timer rate; /* until the next message is within the rate */
        struct cay_deferred release;
        struct cay_buf text; /* for the viewer, in the making */
        struct cay_live_order order;
        char sandbox[CAY_NAME_MAX + 1], owner[CAY_OWNER_MAX + 1], request_id[CAY_GATE_ID + 1];
        uint64_t sent, drawn; /* numbers of frames: the newest that was sent, that was acknowledged */
        unsigned on_their_way;
        unsigned due; /* news that wait until more can be sent */
        bool sees_all, only_running;
        bool waits;   /* for the browser */
        bool is_paid; /* the message that is being taken */
};

static struct live_ws *of_ws(struct cay_ws *ws)
{
        return cay_container_of(ws, struct live_ws, ws);
}

static struct live_ws *of_viewer(struct cay_live_viewer *v)
{
        return cay_container_of(v, struct live_ws, viewer);
}

static void release_live(struct cay_deferred *d)
{
        struct live_ws *w = cay_container_of(d, struct live_ws, release);

        cay_buf_done(&w->text);
        free(w);
}

static void let_go(struct live_ws *w)
{
        cay_live_close(&w->viewer);
        cay_timer_clear(&w->rate);
        cay_guard_end(&w->guard);
        cay_rest_stream_remove(&w->stream);
        w->release.run = release_live;
        cay_loop_defer(w->world->loop, &w->release);
}

/* To the viewer */

static void begin_text(struct live_ws *w, struct cay_json *j)
{
        cay_buf_clear(&w->text);
        cay_json_init(j, &w->text);
        cay_json_begin_object(j);
}

/* How much is queued; below 0: the WebSocket is closed, or is being. */
static ssize_t send_text(struct live_ws *w, struct cay_json *j)
{
        ssize_t queued;

        cay_json_end_object(j);
        if (cay_json_end(j) < 0)
                return 0;
        queued = cay_ws_send(&w->ws, CAY_WS_TEXT, cay_buf_data(&w->text), w->text.len);
        if (queued < 0 && queued != -EPIPE)
                cay_ws_close(&w->ws, CAY_WS_TRY_LATER,
                             "there is no memory for what the viewer does not read");
        return queued;
}

static void send_news(struct live_ws *w)
{
        struct cay_json j;
        unsigned due = w->due;

        if (due == 0 || !cay_ws_is_open(&w->ws))
                return;
        w->due = 0;
        begin_text(w, &j);
        cay_live_put(&w->viewer, due, &j);
        if (due & CAY_LIVE_TURN)
                cay_op_key_bool(&j, "only_looks", w->viewer.only_looks);
        send_text(w, &j);
}

/* While anything is queued, news gather: what is sent then is how it is then. */
static void on_news(struct cay_live_viewer *v, unsigned bits)
{
        struct live_ws *w = of_viewer(v);
        bool was_idle = w->due == 0;

        w->due |= bits;
        if (was_idle)
                cay_ws_ask_drain(&w->ws);
}

static void on_drain(struct cay_ws *ws)
{
        send_news(of_ws(ws));
}

static void tell_error(struct live_ws *w, const struct cay_error *err)
{
        struct cay_json j;

        begin_text(w, &j);
        cay_op_key_text(&j, "error", err->msg);
        send_text(w, &j);
}

static void on_frame(struct cay_live_viewer *v, const struct cay_live_frame *f)
{
        struct live_ws *w = of_viewer(v);
        struct cay_json j;
        ssize_t queued;

        begin_text(w, &j);
        cay_op_key_u64(&j, "frame", f->number);
        cay_op_key_u64(&j, "tab", f->tab);
        cay_op_key_u64(&j, "width", f->width);
        cay_op_key_u64(&j, "height", f->height);
        cay_op_key_u64(&j, "bytes", f->len);
        cay_op_key_u64(&j, "at_ms", f->wall_ms);
        if (send_text(w, &j) < 0)
                return;
        queued = cay_ws_send(&w->ws, CAY_WS_BINARY, f->bytes, f->len);
        if (queued < 0) {
                cay_ws_close(&w->ws, CAY_WS_TRY_LATER,
                             "there is no memory for what the viewer does not read");
                return;
        }
        w->sent = f->number;
        w->on_their_way++;
        if (w->on_their_way < ON_THEIR_WAY)
                cay_live_ready(v);
}

static void on_gone(struct cay_live_viewer *v, const struct cay_error *why)
{
        cay_ws_close(&of_viewer(v)->ws, why->reason == CAY_REASON_CLOSED ? CAY_WS_NORMAL : CAY_WS_INTERNAL,
                     why->msg);
}

/* From the viewer */

static void on_room(struct cay_live_viewer *v)
{
        cay_ws_resume(&of_viewer(v)->ws);
}

static void on_rate(struct cay_timer *t)
{
        cay_ws_resume(&cay_container_of(t, struct live_ws, rate)->ws);
}

static bool pay(struct live_ws *w)
{
        struct cay_error err = { 0 };
        uint64_t wait_ms = 0;

        if (!w->is_paid)
                w->is_paid = cay_pass_pay(&w->guard.pass, &wait_ms, &err) == 0;
        if (!w->is_paid)
                cay_timer_set(w->world->loop, &w->rate, wait_ms, on_rate);
        return w->is_paid;
}

/* Of a frame that was sent, once, in any number of steps. */
static void take_ack(struct live_ws *w)
{
        if (w->order.number <= w->drawn || w->order.number > w->sent)
                return;
        w->drawn = w->order.number;
        w->on_their_way = w->drawn == w->sent ? 0 : w->on_their_way > 0 ? w->on_their_way - 1 : 0;
        cay_live_ready(&w->viewer);
}

static size_t on_message(struct cay_ws *ws, enum cay_ws_opcode kind, const void *bytes, size_t len)
{
        struct live_ws *w = of_ws(ws);
        struct cay_error err = { 0 };
        int r;

        if (!cay_guard_look(&w->guard))
                return len;
        if (kind != CAY_WS_TEXT || cay_live_order_read(bytes, len, &w->order, &err) < 0) {
                cay_ws_close(ws, CAY_WS_REFUSED, err.msg[0] ? err.msg : "messages are JSON texts");
                return len;
        }
        if (w->order.kind == CAY_LIVE_ACK) {
                take_ack(w);
                return len;
        }
        if (!pay(w))
                return 0;
        r = cay_live_act(&w->viewer, &w->order, &err);
        if (r == -EAGAIN)
                return 0; /* on_room follows */
        w->is_paid = false;
        if (r < 0)
                tell_error(w, &err);
        return len;
}

static void on_closed(struct cay_ws *ws, unsigned code, const char *reason)
{
        (void)code;
        (void)reason;
        let_go(of_ws(ws));
}

static const struct cay_ws_ops ws_ops = { .on_message = on_message,
                                          .on_drain = on_drain,
                                          .on_closed = on_closed };

static void on_over(struct cay_guard *g, const char *why)
{
        cay_ws_close(&cay_container_of(g, struct live_ws, guard)->ws, CAY_WS_REFUSED, why);
}

static void on_stop(struct cay_rest_stream *s)
{
        cay_ws_close(&cay_container_of(s, struct live_ws, stream)->ws, CAY_WS_GOING_AWAY, "the daemon stops");
}

/* The request */

static struct cay_http_request *take_request(struct live_ws *w)
{
        struct cay_http_request *req = cay_take(w->req);

        req->handler = NULL;
        return req;
}

static void refuse(struct live_ws *w, const struct cay_error *err)
{
        cay_rest_refuse(take_request(w), cay_rest_status(err->code), err->msg, w->request_id);
        let_go(w);
}

static void upgrade(struct live_ws *w)
{
        const struct cay_ws_options options = { .message_max = CAY_LIVE_ORDER_MAX,
                                                .out_max = OUT_MAX,
                                                .ping_ms = PING_MS };
        struct cay_viewer who = { .owner = w->owner, .sees_all = w->sees_all };
        struct cay_error err = { 0 };

        if (cay_live_open(w->world->browsers, &who, w->sandbox, w->only_running, &w->viewer, &err) < 0) {
                refuse(w, &err);
                return;
        }
        if (cay_ws_accept(&w->ws, take_request(w), w->world->loop, NULL, &options, &ws_ops) < 0) {
                let_go(w);
                return;
        }
        w->stream.stop = on_stop;
        cay_rest_stream_add(w->streams, &w->stream);
        cay_guard_begin(&w->guard, on_over);
        on_news(&w->viewer, CAY_LIVE_ALL);
        cay_live_ready(&w->viewer);
}

static void on_started(struct cay_job *job)
{
        struct live_ws *w = cay_container_of(job, struct live_ws, start.job);

        w->waits = false;
        if (job->err.code != CAY_OK)
                refuse(w, &job->err);
        else
                upgrade(w);
}

/* The client went while the browser was being started. */
static void on_request_gone(struct cay_http_request *req, enum cay_http_gone how)
{
        struct live_ws *w = req->user;

        if (how == CAY_HTTP_GONE_HALF || !w->waits)
                return;
        if (w->start.job.queued)
                return; /* it is about to be answered */
        cay_browser_cancel(w->world->browsers, &w->start);
        cay_http_response_abort(take_request(w));
        let_go(w);
}

static const struct cay_http_handler handler = { .on_gone = on_request_gone };

static struct live_ws *make(const struct cay_rest_place *place, const struct cay_visitor *v,
                            const char *sandbox, bool only_looks)
{
        struct live_ws *w = calloc(1, sizeof(*w));

        if (!w)
                return NULL;
        w->world = place->world;
        w->streams = place->streams;
        w->guard.pass = v->pass;
        w->sees_all = (v->caller.scopes & CAY_SCOPE_ADMIN) != 0;
        cay_str_copy(w->sandbox, sizeof(w->sandbox), sandbox);
        cay_str_copy(w->owner, sizeof(w->owner), v->caller.owner);
        cay_str_copy(w->request_id, sizeof(w->request_id), v->request_id);
        cay_buf_init(&w->text, TEXT_MAX);
        w->viewer = (struct cay_live_viewer){
                .on_frame = on_frame, .on_news = on_news, .on_room = on_room, .on_gone = on_gone
        };
        w->viewer.only_looks = w->only_running = only_looks;
        return w;
}

static void begin(struct live_ws *w, struct cay_http_request *req)
{
        struct cay_viewer who = { .owner = w->owner, .sees_all = w->sees_all };

        w->req = req;
        req->handler = &handler;
        req->user = w;
        if (w->only_running) {
                upgrade(w);
                return;
        }
        w->waits = true;
        cay_job_init(&w->start.job, on_started);
        cay_browser_start(w->world->browsers, &who, w->sandbox, NULL, &w->start);
}

static const char looks[] = "view"; /* the owner of the row for those who only look */

static void handle(const void *owner, const struct cay_rest_place *place, struct cay_http_request *req,
                   const struct cay_visitor *v)
{
        const struct cay_http_fault *fault = cay_ws_check(req);
        const char *sandbox = req->target.segments[2];
        struct cay_error err = { 0 }, none = { 0 };
        bool may_act = cay_op_check_scope(cay_op_find("browser_start"), &v->caller, &none) == 0;
        struct live_ws *w;

        if (fault) {
                if (fault->status == 426)
                        cay_http_response_add(req, "Sec-WebSocket-Version", "13");
                cay_rest_refuse(req, fault->status, fault->text, v->request_id);
        } else if (v->origin && !v->origin_is_fine) {
                cay_rest_refuse(req, 403, "pages of this origin are not allowed; see allow_origins",
                                v->request_id);
        } else if (cay_op_check_scope(cay_op_find("browser_get"), &v->caller, &err) < 0) {
                cay_rest_refuse(req, cay_rest_status(err.code), err.msg, v->request_id);
        } else if (strlen(sandbox) > CAY_NAME_MAX) {
                cay_rest_refuse(req, 404, "there is no sandbox of this name", v->request_id);
        } else if ((w = make(place, v, sandbox, owner == looks || !may_act)) == NULL) {
                cay_rest_refuse(req, 503, "no memory for this viewer", v->request_id);
        } else {
                begin(w, req);
        }
}

const struct cay_rest_more cay_live_rows[] = {
        { .row = "GET /api/sandboxes/{id}/browser/live", .handle = handle },
        { .row = "GET /api/sandboxes/{id}/browser/view", .handle = handle, .owner = looks },
};
const unsigned cay_live_count = CAY_COUNT(cay_live_rows);
