/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An upgraded connection as a duplex: bytes that its user has not consumed are counted, and too many of them
 * pause reading.
 */
#include "foundation/http/http1.h"

enum {
        WINDOW = 256 * 1024, /* owed bytes from which no more is read … */
        WINDOW_LOW = WINDOW / 2,
};

static struct cay_http_conn *conn_of(struct cay_duplex *d)
{
        return cay_container_of(d, struct cay_http_conn, duplex);
}

void cay_http_conn_feed_duplex(struct cay_http_conn *c)
{
        struct cay_duplex_user *user = c->duplex.user;
        size_t len = c->conn.in.len;

        if (len > 0) {
                c->owed += len;
                user->ops->on_data(user, cay_buf_data(&c->conn.in), len);
                if (!cay_conn_is_open(&c->conn))
                        return;
                cay_conn_took(&c->conn, len);
                if (c->owed >= WINDOW)
                        cay_conn_pause(&c->conn);
        }
        if (c->conn.eof && !c->eof_told) {
                c->eof_told = true;
                user->ops->on_eof(user);
        }
}

void cay_http_conn_duplex_drained(struct cay_http_conn *c)
{
        if (!c->room_owed)
                return;
        c->room_owed = false;
        c->duplex.user->ops->on_room(c->duplex.user);
}

static size_t write_some(struct cay_duplex *d, const void *bytes, size_t len)
{
        struct cay_http_conn *c = conn_of(d);
        size_t queued = cay_conn_queued(&c->conn), room = queued < CAY_CONN_HIGH ? CAY_CONN_HIGH - queued : 0;
        size_t n = len < room ? len : room, spare = c->conn.out.cap - queued;
        size_t may = cay_budget_room(c->conn.out.budget);

        if (n > spare && n - spare > may) /* then in pieces that leave room for others */
                n = spare + may;
        if (n > 0 && cay_conn_write(&c->conn, bytes, n) < 0)
                return 0; /* lost, which is reported from the loop */
        if (n < len) {
                c->room_owed = true;
                cay_conn_ask_drain(&c->conn);
        }
        return n;
}

static void shut(struct cay_duplex *d)
{
        cay_conn_shut(&conn_of(d)->conn);
}

static void consumed(struct cay_duplex *d, size_t len)
{
        struct cay_http_conn *c = conn_of(d);

        c->owed -= len < c->owed ? len : c->owed;
        if (c->owed <= WINDOW_LOW)
                cay_conn_resume(&c->conn);
}

static void close_both(struct cay_duplex *d)
{
        struct cay_http_conn *c = conn_of(d);

        c->state = CAY_HTTP_ENDING;
        c->duplex.user = NULL;
        cay_conn_finish(&c->conn, true); /* let the final output be read, whatever input still arrives */
}

static void own(struct cay_duplex *d, const char *owner)
{
        struct cay_http_conn *c = conn_of(d);

        cay_http_conn_own(c, owner);
        cay_http_server_know(c->server, c);
}

const struct cay_duplex_ops cay_http_conn_duplex_ops = {
        .write = write_some,
        .shut = shut,
        .consumed = consumed,
        .close = close_both,
        .own = own,
};
