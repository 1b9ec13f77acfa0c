/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-edge/connection.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "cay-edge/request.h"
#include "foundation/base/clock.h"

#define PIECE (16u * 1024)
#define IN_MAX (2 * EDGE_HEAD_MAX)
#define OUT_MAX (2 * EDGE_OUT_MAX)
#define BACK_MAX (64u * 1024)
#define HANDSHAKE_MS 20000u
#define IDLE_MS (600u * 1000)
#define LAST_MS 5000u /* for an answer of ours to be taken */

struct end {                 /* one side's TLS */
        struct cay_tls *tls; /* owned */
        int fd;
        short wants;                    /* poll's events */
        bool is_read, is_shut, is_dead; /* it ended; we ended; neither works any more */
        bool has_spoken;                /* TLS is up: bytes have come */
};

struct connection {
        struct edge_request request;
        struct end box, server;
        struct cay_buf in, out, back; /* from the box, to the server; to the box */
        bool has_answer;              /* of ours, in `back`: nothing else is sent any more */
        enum edge_how how;
};

/* Bytes */

static bool take_in(struct end *e, struct cay_buf *to)
{
        bool wants_out = false;
        char *room;
        ssize_t n;

        if (e->is_read || e->is_dead || cay_buf_left(to) < PIECE)
                return false;
        room = cay_buf_room(to, PIECE);
        n = room ? cay_tls_read(e->tls, room, PIECE, &wants_out) : -ENOMEM;
        if (n > 0) {
                cay_buf_added(to, (size_t)n);
                e->has_spoken = true;
                return true;
        }
        if (n == -EAGAIN)
                e->wants |= wants_out ? POLLOUT : POLLIN;
        else if (n == 0)
                e->is_read = true;
        else
                e->is_dead = e->is_read = true;
        return n != -EAGAIN;
}

static bool give_out(struct end *e, struct cay_buf *from)
{
        bool wants_in = false;
        ssize_t n;

        if (e->is_dead || e->is_shut || from->len == 0)
                return false;
        n = cay_tls_write(e->tls, cay_buf_data(from), from->len, &wants_in);
        if (n > 0) {
                cay_buf_drop(from, (size_t)n);
                return true;
        }
        if (n == -EAGAIN)
                e->wants |= wants_in ? POLLIN : POLLOUT;
        else
                e->is_dead = e->is_read = true;
        return n != -EAGAIN;
}

static bool shut(struct end *e)
{
        if (e->is_shut || e->is_dead)
                return false;
        cay_tls_shut(e->tls);
        e->is_shut = true;
        return true;
}

/* Answers of our own */

static const char *reason(enum edge_how how)
{
        static const char *const texts[] = {
#define EDGE_END(word, text) [EDGE_##word] = text,
#include "links/net/edge_ends.def"
#undef EDGE_END
        };

        return texts[how];
}

static void answer(struct connection *c, enum edge_how how, unsigned status, const char *text)
{
        c->how = how;
        c->has_answer = true;
        c->server.is_dead = c->server.is_read = true;
        cay_buf_clear(&c->out);
        if (c->server.has_spoken) /* where an answer ends is not known here: none of ours must follow it */
                return;
        cay_buf_printf(&c->back,
                       "HTTP/1.1 %u Refused\r\nContent-Type: text/plain\r\nConnection: close\r\n"
                       "Content-Length: %zu\r\n\r\ncay: %s: %s\n",
                       status, strlen(c->request.order->host) + strlen(text) + 8, c->request.order->host,
                       text);
}

static enum edge_how how_server_failed(const struct cay_tls *t)
{
        switch (cay_tls_fault(t)) {
        case CAY_TLS_PEER_UNTRUSTED:
                return EDGE_PEER_UNTRUSTED;
        case CAY_TLS_PEER_EXPIRED:
                return EDGE_PEER_EXPIRED;
        case CAY_TLS_PEER_TOO_EARLY:
                return EDGE_PEER_TOO_EARLY;
        case CAY_TLS_PEER_OTHER_NAME:
                return EDGE_PEER_OTHER_NAME;
        default:
                return EDGE_PEER_FAILED;
        }
}

/*
 * The server's side is over before it said anything, or a request was refused: the program is told why, if
 * nothing else was answered.
 */
static bool check_faults(struct connection *c)
{
        if (c->has_answer || c->box.is_dead)
                return false;
        if (c->request.state == EDGE_REFUSED) {
                answer(c, c->request.is_other_host ? EDGE_OTHER_HOST : EDGE_BAD_REQUEST,
                       c->request.fault.status ? c->request.fault.status : 400, c->request.fault.text);
                return true;
        }
        if (c->server.is_dead && !c->server.has_spoken && c->back.len == 0 && c->how == EDGE_DONE) {
                enum edge_how how = how_server_failed(c->server.tls);

                answer(c, how, 502, reason(how));
                return true;
        }
        return false;
}

/* Turns */

static bool pass_requests(struct connection *c)
{
        bool moved = false;

        while (!c->has_answer && edge_request_step(&c->request, &c->in, &c->out))
                moved = true;
        return moved;
}

static bool turn(struct connection *c)
{
        bool moved = false;

        c->box.wants = c->server.wants = 0;
        moved |= take_in(&c->box, &c->in);
        if (c->has_answer)
                cay_buf_clear(&c->in);
        moved |= pass_requests(c);
        moved |= give_out(&c->server, &c->out);
        moved |= !c->has_answer && take_in(&c->server, &c->back);
        moved |= check_faults(c);
        if (!c->has_answer || c->box.has_spoken) /* an answer comes after its request */
                moved |= give_out(&c->box, &c->back);
        if (c->box.is_read && c->out.len == 0)
                moved |= shut(&c->server);
        if (c->server.is_read && c->back.len == 0)
                moved |= shut(&c->box);
        return moved;
}

/*
 * Nothing is left that could be passed on. What comes after an answer of ours is read: a close with unread
 * bytes would be a reset.
 */
static bool is_over(const struct connection *c)
{
        return c->box.is_dead || (c->server.is_read && c->back.len == 0 && c->box.is_shut &&
                                  (!c->has_answer || c->box.is_read));
}

/* 0, or how it ended for want of anything to happen. */
static enum edge_how wait(struct connection *c, uint64_t most_ms)
{
        struct pollfd fds[] = { { .fd = c->box.wants ? c->box.fd : -1, .events = c->box.wants },
                                { .fd = c->server.wants ? c->server.fd : -1, .events = c->server.wants } };
        int n;

        do
                n = poll(fds, 2, (int)most_ms);
        while (n < 0 && errno == EINTR);
        return n > 0 ? EDGE_DONE : EDGE_IDLE;
}

static enum edge_how how_box_failed(const struct connection *c)
{
        if (c->box.has_spoken)
                return EDGE_DONE;
        return cay_tls_fault(c->box.tls) == CAY_TLS_OWN_REFUSED ? EDGE_BOX_UNTRUSTING : EDGE_BOX_FAILED;
}

static enum edge_how run(struct connection *c)
{
        uint64_t began = cay_clock_ms();

        while (!is_over(c)) {
                uint64_t now = cay_clock_ms(), most = IDLE_MS;

                if (turn(c))
                        continue;
                if (!c->box.has_spoken)
                        most = now - began < HANDSHAKE_MS ? HANDSHAKE_MS - (now - began) : 0;
                else if (c->has_answer)
                        most = LAST_MS;
                if (wait(c, most) == EDGE_IDLE)
                        return c->how != EDGE_DONE ? c->how : EDGE_IDLE;
        }
        return c->how == EDGE_DONE && c->box.is_dead ? how_box_failed(c) : c->how;
}

enum edge_how edge_connection_run(const struct edge_order *o, const int fds[EDGE_FD_COUNT],
                                  struct cay_tls_context *box, struct cay_tls_context *server)
{
        struct connection c = { .request = { .order = o },
                                .box = { .fd = fds[EDGE_FD_BOX] },
                                .server = { .fd = fds[EDGE_FD_SERVER] } };
        enum edge_how how = EDGE_BROKEN;

        cay_buf_init(&c.in, IN_MAX);
        cay_buf_init(&c.out, OUT_MAX);
        cay_buf_init(&c.back, BACK_MAX);
        c.box.tls = cay_tls_accept(box, c.box.fd);
        c.server.tls = cay_tls_connect(server, c.server.fd, o->host);
        if (c.box.tls && c.server.tls)
                how = run(&c);
        cay_tls_free(c.box.tls);
        cay_tls_free(c.server.tls);
        cay_buf_done(&c.in);
        cay_buf_done(&c.out);
        cay_buf_done(&c.back);
        return how;
}
