/* SPDX-License-Identifier: Apache-2.0 */
/* foundation/http/conn.h behind the duplex port. */
#include "foundation/http/socket.h"

#include <stdlib.h>

#include "foundation/http/conn.h"

enum { WINDOW = 256 * 1024, IN_MAX = 64 * 1024 };

struct cay_socket {
        struct cay_duplex duplex;
        struct cay_conn conn;
        struct cay_deferred release;
        size_t owed;
        bool closed, eof_told, room_owed;
        struct cay_socket_end *end; /* borrowed; NULL: nobody wants to know */
};

static void release_socket(struct cay_deferred *d)
{
        free(cay_container_of(d, struct cay_socket, release));
}

static void drop(struct cay_socket *s)
{
        cay_conn_close(&s->conn);
        s->release.run = release_socket;
        cay_loop_defer(s->conn.loop, &s->release);
}

static void on_input(struct cay_conn *c)
{
        struct cay_socket *s = cay_container_of(c, struct cay_socket, conn);
        struct cay_duplex_user *u = s->duplex.user;
        size_t len = c->in.len;

        if (len > 0) {
                s->owed += len;
                u->ops->on_data(u, cay_buf_data(&c->in), len);
                if (s->closed)
                        return;
                cay_conn_took(c, len);
                if (s->owed >= WINDOW)
                        cay_conn_pause(c);
        }
        if (c->eof && !s->eof_told) {
                s->eof_told = true;
                s->duplex.user->ops->on_eof(s->duplex.user); /* it may have another user by now */
        }
}

static void on_drain(struct cay_conn *c)
{
        struct cay_socket *s = cay_container_of(c, struct cay_socket, conn);

        if (!s->room_owed)
                return;
        s->room_owed = false;
        s->duplex.user->ops->on_room(s->duplex.user);
}

static void on_lost(struct cay_conn *c, int why)
{
        struct cay_socket *s = cay_container_of(c, struct cay_socket, conn);
        struct cay_duplex_user *u = s->duplex.user;

        if (s->end && !s->closed)
                *s->end = (struct cay_socket_end){ .sys = why, .tls = c->tls_fault };
        drop(s);
        if (!s->closed)
                u->ops->on_lost(u, why);
}

static void on_deadline(struct cay_conn *c)
{
}

static size_t socket_write(struct cay_duplex *d, const void *bytes, size_t len)
{
        struct cay_socket *s = cay_container_of(d, struct cay_socket, duplex);
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

static void socket_shut(struct cay_duplex *d)
{
        cay_conn_shut(&cay_container_of(d, struct cay_socket, duplex)->conn);
}

static void socket_consumed(struct cay_duplex *d, size_t len)
{
        struct cay_socket *s = cay_container_of(d, struct cay_socket, duplex);

        s->owed -= len;
        if (s->owed < WINDOW / 2)
                cay_conn_resume(&s->conn);
}

/* What was written still goes out; nothing more is told. */
static void socket_close(struct cay_duplex *d)
{
        struct cay_socket *s = cay_container_of(d, struct cay_socket, duplex);

        s->closed = true;
        cay_conn_finish(&s->conn, false);
}

struct cay_duplex *cay_socket_open_take(struct cay_loop *loop, int fd, struct cay_tls *tls)
{
        static const struct cay_conn_events events = {
                .on_input = on_input, .on_drain = on_drain, .on_lost = on_lost, .on_deadline = on_deadline
        };
        static const struct cay_duplex_ops ops = {
                .write = socket_write, .shut = socket_shut, .consumed = socket_consumed, .close = socket_close
        };
        struct cay_socket *s = calloc(1, sizeof(*s));

        if (!s) {
                cay_tls_free(tls);
                close(fd);
                return NULL;
        }
        if (cay_conn_open_take(loop, &s->conn, fd, tls, IN_MAX, &events) < 0) {
                free(s);
                return NULL;
        }
        s->duplex.ops = &ops;
        return &s->duplex;
}

void cay_socket_drain(struct cay_duplex *d)
{
        cay_container_of(d, struct cay_socket, duplex)->conn.drains = true;
}

void cay_socket_note_end(struct cay_duplex *d, struct cay_socket_end *end)
{
        cay_container_of(d, struct cay_socket, duplex)->end = end;
}
