/* SPDX-License-Identifier: Apache-2.0 */
/* A connected socket as a duplex, for the proxy's tests: in the product a channel of a box link stands there. */
#pragma once

#include <stdlib.h>

#include "http/conn.h"
#include "http/duplex.h"

enum { SOCKET_DUPLEX_WINDOW = 256 * 1024 };

struct socket_duplex {
        struct cay_duplex duplex;
        struct cay_conn conn;
        struct cay_deferred release;
        size_t owed;
        bool closed, eof_told, room_owed;
};

static void socket_duplex_release(struct cay_deferred *d)
{
        free(cay_container_of(d, struct socket_duplex, release));
}

static void socket_duplex_drop(struct socket_duplex *s)
{
        cay_conn_close(&s->conn);
        s->release.run = socket_duplex_release;
        cay_loop_defer(s->conn.loop, &s->release);
}

static void socket_duplex_input(struct cay_conn *c)
{
        struct socket_duplex *s = cay_container_of(c, struct socket_duplex, conn);
        struct cay_duplex_user *u = s->duplex.user;
        size_t len = c->in.len;

        if (len > 0) {
                s->owed += len;
                u->ops->on_data(u, cay_buf_data(&c->in), len);
                if (s->closed)
                        return;
                cay_conn_took(c, len);
                if (s->owed >= SOCKET_DUPLEX_WINDOW)
                        cay_conn_pause(c);
        }
        if (c->eof && !s->eof_told) {
                s->eof_told = true;
                u->ops->on_eof(u);
        }
}

static void socket_duplex_drained(struct cay_conn *c)
{
        struct socket_duplex *s = cay_container_of(c, struct socket_duplex, conn);

        if (s->room_owed) {
                s->room_owed = false;
                s->duplex.user->ops->on_room(s->duplex.user);
        }
}

static void socket_duplex_lost(struct cay_conn *c, int why)
{
        struct socket_duplex *s = cay_container_of(c, struct socket_duplex, conn);
        struct cay_duplex_user *u = s->duplex.user;

        socket_duplex_drop(s);
        if (!s->closed)
                u->ops->on_lost(u, why);
}

static void socket_duplex_deadline(struct cay_conn *c)
{
}

static size_t socket_duplex_write(struct cay_duplex *d, const void *bytes, size_t len)
{
        struct socket_duplex *s = cay_container_of(d, struct socket_duplex, duplex);
        size_t queued = cay_conn_queued(&s->conn), room = queued < CAY_CONN_HIGH ? CAY_CONN_HIGH - queued : 0;
        size_t n = len < room ? len : room;

        if (n > 0 && cay_conn_write(&s->conn, bytes, n) < 0)
                return 0;
        if (n < len) {
                s->room_owed = true;
                cay_conn_ask_drain(&s->conn);
        }
        return n;
}

static void socket_duplex_shut(struct cay_duplex *d)
{
        cay_conn_shut(&cay_container_of(d, struct socket_duplex, duplex)->conn);
}

static void socket_duplex_consumed(struct cay_duplex *d, size_t len)
{
        struct socket_duplex *s = cay_container_of(d, struct socket_duplex, duplex);

        s->owed -= len;
        if (s->owed < SOCKET_DUPLEX_WINDOW / 2)
                cay_conn_resume(&s->conn);
}

static void socket_duplex_close(struct cay_duplex *d)
{
        struct socket_duplex *s = cay_container_of(d, struct socket_duplex, duplex);

        s->closed = true;
        cay_conn_finish(&s->conn, true);
}

static struct cay_duplex *socket_duplex_open_take(struct cay_loop *loop, int fd)
{
        static const struct cay_conn_events events = { .on_input = socket_duplex_input,
                                                       .on_drain = socket_duplex_drained,
                                                       .on_lost = socket_duplex_lost,
                                                       .on_deadline = socket_duplex_deadline };
        static const struct cay_duplex_ops ops = { .write = socket_duplex_write,
                                                   .shut = socket_duplex_shut,
                                                   .consumed = socket_duplex_consumed,
                                                   .close = socket_duplex_close };
        struct socket_duplex *s = calloc(1, sizeof(*s));

        if (!s || cay_conn_open_take(loop, &s->conn, fd, NULL, 64 * 1024, &events) < 0) {
                free(s);
                return NULL;
        }
        s->duplex.ops = &ops;
        return &s->duplex;
}
