/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state machine of one server-side connection; the states are in http1.h.
 *
 * Theory of operation. On every event, process() examines the input and takes steps until none is possible.
 * Handlers are called inside steps and may answer there. That only sets the new state, from which process()
 * continues: a pipeline of a thousand requests is a loop, not a recursion. A later answer, from outside,
 * immediately takes the steps that call no handler, and the rest at the end of the loop's round.
 *
 * While a handler is busy nothing is read beyond the buffer: the first early input pauses reading. The other
 * side's end is still noticed (EPOLLRDHUP).
 *
 * Uncertain framing ends the connection: after a malformed head or body, after a body that is not read to its
 * end, and after an answer that is shorter than announced.
 */
#include "foundation/http/http1.h"

#include <errno.h>

enum {
        DRAIN_MAX = 256 * 1024, /* a rest of a body that is read to keep the connection */
        IN_MORE = 32 * 1024,    /* input buffer: a head and this */
        SLICE_REQUESTS = 16,    /* of a pipeline, in one round of the loop */
};

static const struct cay_http_config *config(const struct cay_http_conn *c)
{
        return cay_http_server_config(c->server);
}

static void turn(struct cay_http_server *s, const struct cay_http_request *req)
{
        const struct cay_http_server_ops *ops = cay_http_server_config(s)->ops;

        if (ops->on_turn)
                ops->on_turn(s, req);
}

static void await(struct cay_http_conn *c)
{
        c->state = CAY_HTTP_AWAIT;
        c->search = (struct cay_http_head_search){ 0 };
        c->head_begun = c->skipped_line = false;
        if (cay_http_server_is_stopping(c->server) && c->conn.in.len == 0) {
                c->state = CAY_HTTP_ENDING;
                cay_conn_finish(&c->conn, false);
                return;
        }
        cay_http_server_set_idle(c->server, c, true);
        cay_conn_set_deadline(&c->conn, config(c)->idle_ms);
}

static void end(struct cay_http_conn *c, bool linger)
{
        c->state = CAY_HTTP_ENDING;
        cay_http_server_set_idle(c->server, c, false);
        cay_conn_finish(&c->conn, linger);
}

/* From here on only the handler owns the request. */
static void detach(struct cay_http_conn *c, enum cay_http_gone how)
{
        struct cay_http_request *req = cay_take(c->req);

        if (!req)
                return;
        req->conn = NULL;
        cay_buf_charge(&req->body, NULL); /* it may outlive the connection, until its handler ends it */
        if (req->handler && req->handler->on_gone)
                req->handler->on_gone(req, how);
}

/* Errors that no handler answers */

void cay_http_conn_refuse(struct cay_http_conn *c, const struct cay_http_fault *fault)
{
        cay_http_conn_write_error(c, fault, false, false);
        end(c, true);
}

/* The body failed while a handler was reading it. */
static void fail_request(struct cay_http_conn *c, unsigned status, const char *text)
{
        /* A handler reads the whole body before it begins. */
        struct cay_http_fault fault = { .status = status, .text = text, .may_repeat = status == 503 };

        cay_buf_done(&c->req->body);
        if (c->req->answer == CAY_HTTP_UNANSWERED) {
                cay_http_conn_write_error(c, &fault, c->req->method == CAY_HTTP_HEAD, false);
                end(c, true);
        } else {
                /* A part of the answer was sent; the client can only be shown that it is incomplete. */
                end(c, false);
        }
        detach(c, CAY_HTTP_GONE_BROKEN);
}

/* Heads */

static int begin_request(struct cay_http_conn *c, size_t head_len, struct cay_http_fault *ret_fault)
{
        const char *bytes = cay_buf_data(&c->conn.in);
        struct cay_http_request *req;
        struct cay_http_head head;

        if (cay_http_head_parse_request(&head, bytes, head_len, ret_fault) < 0)
                return -1;
        req = cay_http_request_new(c, &head, bytes, head_len, ret_fault);
        if (!req)
                return -1;
        if (cay_http_body_begin(&c->body, head.framing, head.length, config(c)->body_max) < 0) {
                cay_http_request_free(req);
                *ret_fault = (struct cay_http_fault){ 413, "the body is larger than this server takes" };
                return -1;
        }
        cay_conn_took(&c->conn, head_len);
        cay_conn_set_deadline(&c->conn, 0);
        c->state = CAY_HTTP_BUSY;
        c->req = req;
        return 0;
}

/* RFC 9112, 2.2: skip one empty line before a request line. */
static bool skip_line(struct cay_http_conn *c)
{
        const char *bytes = cay_buf_data(&c->conn.in);

        if (c->skipped_line || bytes[0] != '\r')
                return true;
        if (c->conn.in.len == 1)
                return false;
        if (bytes[1] == '\n') {
                c->skipped_line = true;
                cay_conn_took(&c->conn, 2);
        }
        return c->conn.in.len > 0;
}

static bool wait_for_head(struct cay_http_conn *c)
{
        struct cay_http_fault cut = { 400, "the request ends inside its header" };
        struct cay_http_fault full = { 503,
                                       "no memory is left for a header of this size: try again in a moment",
                                       true };

        if (c->conn.eof || c->conn.starved) {
                cay_http_conn_refuse(c, c->conn.eof ? &cut : &full);
        } else if (!c->head_begun) {
                c->head_begun = true;
                cay_http_server_set_idle(c->server, c, false);
                cay_conn_set_deadline(&c->conn, config(c)->head_ms);
        }
        return false;
}

static bool step_head(struct cay_http_conn *c)
{
        struct cay_http_server *server = c->server;
        struct cay_http_fault fault;
        ssize_t n;

        if (c->conn.in.len == 0) {
                if (c->conn.eof)
                        end(c, false);
                return false;
        }
        if (!skip_line(c))
                return wait_for_head(c);
        n = cay_http_head_find(&c->search, cay_buf_data(&c->conn.in), c->conn.in.len, &config(c)->head,
                               &fault);
        if (n == 0)
                return wait_for_head(c);
        if (n < 0 || begin_request(c, (size_t)n, &fault) < 0) {
                cay_http_conn_refuse(c, &fault);
                return false;
        }
        cay_http_server_set_idle(c->server, c, false);
        turn(server, c->req);
        config(c)->ops->on_request(server, c->req);
        turn(server, NULL);
        return true;
}

/* Bodies */

static void watch_body(struct cay_http_conn *c)
{
        const struct cay_http_request *req = c->req;
        bool waits = req->reading && !req->held && !req->patient && !c->body.done;

        c->step_total = c->body.total;
        cay_conn_set_deadline(&c->conn, waits ? config(c)->body_ms : 0);
}

static size_t hand_out(struct cay_http_conn *c, const char *bytes, size_t len)
{
        struct cay_http_request *req = c->req;
        struct cay_http_server *server = c->server;

        if (req->collects) {
                int r = cay_buf_put(&req->body, bytes, len);

                if (r == -ENOSPC)
                        fail_request(c, 413, "the body is larger than this request may bring");
                else if (r < 0)
                        fail_request(c, 503,
                                     "no memory is left for a body of this size: try again in a moment");
                return len;
        }
        if (!req->handler || !req->handler->on_body)
                return len;
        turn(server, req);
        len = req->handler->on_body(req, bytes, len);
        turn(server, NULL);
        return len;
}

/*
 * Passes one piece to the handler, which may answer meanwhile: c->req may be another one or NULL afterwards.
 */
static bool hand_piece(struct cay_http_conn *c, size_t len)
{
        struct cay_http_request *req = c->req;
        size_t taken;

        req->resumed = false;
        taken = hand_out(c, cay_buf_data(&c->conn.in), len);
        if (!cay_conn_is_open(&c->conn))
                return false;
        cay_http_body_took(&c->body, taken);
        cay_conn_took(&c->conn, taken);
        if (c->req != req)
                return true;
        if (taken < len && req->resumed) {
                cay_conn_kick(&c->conn); /* from the loop: otherwise this could continue without end */
                return false;
        }
        if (taken < len) {
                req->held = true;
                watch_body(c);
                return false;
        }
        if (c->body.total - c->step_total >= config(c)->body_step || c->body.done)
                watch_body(c);
        return true;
}

static bool tell_body_end(struct cay_http_conn *c)
{
        struct cay_http_request *req = c->req;
        struct cay_http_server *server = c->server;

        if (req->told_end)
                return false;
        req->told_end = true;
        cay_conn_set_deadline(&c->conn, 0);
        if (req->handler && req->handler->on_body_end) {
                turn(server, req);
                req->handler->on_body_end(req);
                turn(server, NULL);
        }
        return true;
}

static bool step_body(struct cay_http_conn *c)
{
        size_t framing, piece;
        int r;

        if (!c->req->reading || c->req->held)
                return false;
        if (c->body.done)
                return tell_body_end(c);
        r = cay_http_body_look(&c->body, cay_buf_data(&c->conn.in), c->conn.in.len, &framing, &piece);
        if (r < 0) {
                if (r == -EFBIG)
                        fail_request(c, 413, "the body is larger than this request may bring");
                else
                        fail_request(c, 400, "the body's chunks are malformed");
                return false;
        }
        cay_conn_took(&c->conn, framing);
        if (piece > 0)
                return hand_piece(c, piece);
        if (framing == 0 && c->conn.eof) {
                fail_request(c, 400, "the body is cut short");
                return false;
        }
        return framing > 0;
}

static bool step_drain(struct cay_http_conn *c)
{
        size_t framing, piece;

        if (c->body.done) {
                await(c);
                return c->state == CAY_HTTP_AWAIT;
        }
        if (cay_http_body_look(&c->body, cay_buf_data(&c->conn.in), c->conn.in.len, &framing, &piece) < 0 ||
            c->body.total + piece - c->step_total > DRAIN_MAX || (c->conn.eof && framing + piece == 0)) {
                end(c, true);
                return false;
        }
        cay_conn_took(&c->conn, framing);
        cay_conn_took(&c->conn, piece);
        cay_http_body_took(&c->body, piece);
        return framing + piece > 0 || c->body.done;
}

/* Steps */

static bool step(struct cay_http_conn *c)
{
        if (!cay_conn_is_open(&c->conn))
                return false;
        switch (c->state) {
        case CAY_HTTP_AWAIT:
                return step_head(c);
        case CAY_HTTP_BUSY:
                return step_body(c);
        case CAY_HTTP_DRAIN:
                return step_drain(c);
        case CAY_HTTP_UPGRADED:
                cay_http_conn_feed_duplex(c);
                return false;
        case CAY_HTTP_ENDING:
                break;
        }
        return false;
}

static void process(struct cay_http_conn *c)
{
        unsigned answered = 0;

        if (c->processing)
                return;
        c->processing = true;
        while (step(c)) {
                /* Yield to other connections between two pipelined requests. */
                if (c->state == CAY_HTTP_AWAIT && c->conn.in.len > 0 && ++answered >= SLICE_REQUESTS) {
                        cay_conn_kick(&c->conn);
                        break;
                }
        }
        c->processing = false;
}

/* The client has half-closed, and its request is complete. */
static void tell_half(struct cay_http_conn *c)
{
        struct cay_http_request *req = c->req;

        /* The end of an incomplete body is noticed when it is read; bytes in the kernel may complete it. */
        if (c->state != CAY_HTTP_BUSY || !c->conn.fin || !c->body.done || req->told_half)
                return;
        req->told_half = true;
        if (req->handler && req->handler->on_gone)
                req->handler->on_gone(req, CAY_HTTP_GONE_HALF);
}

static void on_input(struct cay_conn *conn)
{
        struct cay_http_conn *c = cay_container_of(conn, struct cay_http_conn, conn);

        process(c);
        tell_half(c); /* it may have arrived before the rest of the body was read */
        /* Too early: continue reading when it is wanted. */
        if (c->state == CAY_HTTP_BUSY && (!c->req->reading || c->req->held || c->body.done))
                cay_conn_pause(conn);
}

void cay_http_conn_read_on(struct cay_http_conn *c)
{
        watch_body(c);
        cay_conn_resume(&c->conn);
        if (c->processing)
                return;
        /* Available data, or the end of an empty body, is reported from the loop. */
        if (c->conn.in.len > 0 || c->body.done || c->conn.eof)
                cay_conn_kick(&c->conn);
}

void cay_http_conn_answered(struct cay_http_conn *c, bool keep_alive, bool broken)
{
        bool is_rest_large = c->body.framing == CAY_HTTP_LENGTH && c->body.left > DRAIN_MAX;

        c->req = NULL;
        if (c->conn.passed_fd >= 0) /* arrived too late to belong to it; a descriptor is sent with the head */
                close(cay_take_fd(c->conn.passed_fd));
        if (broken || !keep_alive || is_rest_large || cay_http_server_is_stopping(c->server)) {
                end(c, !broken && (!c->body.done || c->conn.in.len > 0));
                return;
        }
        c->state = CAY_HTTP_DRAIN;
        c->step_total = c->body.total;
        cay_conn_set_deadline(&c->conn, c->body.done ? 0 : config(c)->body_ms);
        if (c->processing)
                return;
        while (c->state == CAY_HTTP_DRAIN && step_drain(c))
                ;
        if (!cay_conn_is_open(&c->conn))
                return;
        cay_conn_resume(&c->conn);
        if (c->conn.in.len > 0 && c->state == CAY_HTTP_AWAIT)
                cay_conn_kick(&c->conn);
}

void cay_http_conn_upgraded(struct cay_http_conn *c)
{
        c->req = NULL;
        c->state = CAY_HTTP_UPGRADED;
        c->duplex.ops = &cay_http_conn_duplex_ops;
        cay_conn_resume(&c->conn);
        if (c->conn.in.len > 0 || c->conn.eof)
                cay_conn_kick(&c->conn);
}

/* Other events of the connection */

static void on_fin(struct cay_conn *conn)
{
        tell_half(cay_container_of(conn, struct cay_http_conn, conn));
}

static void on_drain(struct cay_conn *conn)
{
        struct cay_http_conn *c = cay_container_of(conn, struct cay_http_conn, conn);

        if (c->state == CAY_HTTP_UPGRADED)
                cay_http_conn_duplex_drained(c);
        else if (c->req && c->req->handler && c->req->handler->on_drain)
                c->req->handler->on_drain(c->req);
}

static void on_deadline(struct cay_conn *conn)
{
        struct cay_http_conn *c = cay_container_of(conn, struct cay_http_conn, conn);
        struct cay_http_fault late = { 408, "the request's header did not come in time" };

        if (c->state == CAY_HTTP_AWAIT && c->head_begun)
                cay_http_conn_refuse(c, &late);
        else if (c->state == CAY_HTTP_BUSY)
                fail_request(c, 408, "the body did not come in time");
        else
                end(c, false);
}

static void release_http1(struct cay_deferred *d)
{
        struct cay_http_conn *c = cay_container_of(d, struct cay_http_conn, release);

        cay_budget_owner_put(c->owner);
        free(c);
}

/* Closed for good. */
static void leave(struct cay_http_conn *c, enum cay_http_gone how, int why)
{
        struct cay_http_server *server = c->server;
        struct cay_duplex_user *user = c->state == CAY_HTTP_UPGRADED ? c->duplex.user : NULL;

        cay_http_server_set_idle(server, c, false);
        c->state = CAY_HTTP_ENDING;
        detach(c, how);
        if (user)
                user->ops->on_lost(user, why);
        c->release.run = release_http1;
        cay_loop_defer(c->conn.loop, &c->release);
        cay_http_server_forget(server, c);
}

static void on_lost(struct cay_conn *conn, int why)
{
        leave(cay_container_of(conn, struct cay_http_conn, conn), CAY_HTTP_GONE_LOST, why);
}

void cay_http_conn_kill(struct cay_http_conn *c)
{
        cay_conn_close(&c->conn);
        leave(c, CAY_HTTP_GONE_STOPPED, -ESHUTDOWN);
}

void cay_http_conn_retire(struct cay_http_conn *c)
{
        if (c->state == CAY_HTTP_AWAIT && !c->head_begun)
                end(c, false);
}

static const struct cay_conn_events events = {
        .on_input = on_input,
        .on_fin = on_fin,
        .on_drain = on_drain,
        .on_lost = on_lost,
        .on_deadline = on_deadline,
};

int cay_http_conn_open_take(struct cay_http_conn *c, struct cay_loop *loop, int fd, struct cay_tls *tls)
{
        int r = cay_conn_open_take(loop, &c->conn, fd, tls, config(c)->head.head_bytes + IN_MORE, &events);

        if (r == 0) {
                r = cay_http_conn_charge(c);
                if (r < 0)
                        cay_conn_close(&c->conn);
        }
        if (r < 0)
                return r;
        c->conn.stall_ms = config(c)->stall_ms;
        await(c);
        /* A silent new connection is not a keep-alive connection: its first head is due sooner. */
        cay_conn_set_deadline(&c->conn, config(c)->head_ms);
        return 0;
}
