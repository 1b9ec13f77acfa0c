/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writing half of connections: the queue, and the end that follows it. The theory of operation is in
 * conn.h.
 */
#include <assert.h>
#include <errno.h>

#include "foundation/base/clock.h"
#include "foundation/http/conn_priv.h"
#include "foundation/http/tls.h"

enum {
        DIRECT_MIN = 8 * 1024, /* smaller writes are collected while corked */
        LINGER_MS = 30 * 1000, /* in total, for a client that keeps sending */
        PARTS_MAX = 4,
};

size_t cay_conn_queued(const struct cay_conn *c)
{
        return c->out.len;
}

/* The queue is sent and there are no more writes. */
static void say_end(struct cay_conn *c)
{
        if (c->tls)
                cay_tls_shut(c->tls);
        shutdown(c->fd, SHUT_WR);
        c->end_said = true;
}

static void finish_step(struct cay_conn *c)
{
        if (c->state != CAY_CONN_FLUSHING || c->out.len > 0)
                return;
        if (!c->end_said)
                say_end(c);
        c->state = CAY_CONN_LINGERING;
        if (!c->linger || c->eof) {
                c->ended = true;
                cay_conn_kick(c);
                return;
        }
        c->read_wants_out = false; /* from here on input is discarded below TLS */
        c->linger_end_ms = cay_clock_ms() + (c->linger_ms ? c->linger_ms : LINGER_MS);
        cay_conn_note_linger(c);
        cay_conn_update_watch(c);
}

/* Writing */

static ssize_t send_parts(struct cay_conn *c, const struct iovec *parts, unsigned count)
{
        struct msghdr msg = { .msg_iov = (struct iovec *)parts, .msg_iovlen = count };
        ssize_t n;

        if (c->tls)
                return cay_tls_write(c->tls, parts[0].iov_base, parts[0].iov_len, &c->write_wants_in);
        do
                n = sendmsg(c->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
        while (n < 0 && errno == EINTR);
        if (n >= 0)
                return n;
        return errno == EWOULDBLOCK || errno == ENOBUFS ? -EAGAIN : -errno;
}

static void fail_write(struct cay_conn *c, int why)
{
        c->write_error = why;
        cay_buf_done(&c->out);
        c->stalled_ms = 0;
        cay_conn_update_watch(c);
        cay_conn_kick(c);
}

void cay_conn_flush(struct cay_conn *c)
{
        bool moved = false;

        while (c->out.len > 0 && c->write_error == 0) {
                struct iovec part = { .iov_base = cay_buf_data(&c->out), .iov_len = c->out.len };
                ssize_t n = send_parts(c, &part, 1);

                if (n == -EAGAIN)
                        break;
                if (n < 0) {
                        fail_write(c, (int)n);
                        return;
                }
                moved = true;
                cay_buf_drop(&c->out, (size_t)n);
                if (!c->tls && (size_t)n < part.iov_len)
                        break;
        }
        if (c->out.len == 0)
                cay_buf_done(&c->out);
        if (moved || !c->stalled_ms)
                cay_conn_note_stall(c);
        if (c->out.len == 0 && c->shut_asked && !c->end_said)
                say_end(c);
        if (c->was_high && c->out.len <= CAY_CONN_LOW)
                cay_conn_kick(c); /* the kernel accepted everything: no event will follow */
        finish_step(c);
        cay_conn_update_watch(c);
}

void cay_conn_break(struct cay_conn *c, int why)
{
        if (c->state != CAY_CONN_CLOSED && c->write_error == 0)
                fail_write(c, why);
}

/* Writes the queue and the new parts in one call; the rest of the parts is queued. */
static int write_direct(struct cay_conn *c, const struct iovec *parts, unsigned count)
{
        struct iovec all[PARTS_MAX + 1];
        unsigned n_all = 0;
        size_t done;
        ssize_t n;

        if (c->out.len > 0)
                all[n_all++] = (struct iovec){ .iov_base = cay_buf_data(&c->out), .iov_len = c->out.len };
        for (unsigned i = 0; i < count; i++)
                all[n_all++] = parts[i];
        n = send_parts(c, all, n_all);
        if (n < 0 && n != -EAGAIN) {
                fail_write(c, (int)n);
                return -EPIPE;
        }
        done = n < 0 ? 0 : (size_t)n;
        if (c->out.len > 0) {
                size_t old = done < c->out.len ? done : c->out.len;

                cay_buf_drop(&c->out, old);
                done -= old;
        }
        for (unsigned i = 0; i < count; i++) {
                size_t skip = done < parts[i].iov_len ? done : parts[i].iov_len;

                done -= skip;
                if (cay_buf_put(&c->out, (const char *)parts[i].iov_base + skip, parts[i].iov_len - skip) <
                    0) {
                        /* A part of it was sent: the stream is broken permanently. */
                        fail_write(c, -ENOMEM);
                        return -ENOMEM;
                }
        }
        cay_conn_note_stall(c);
        return 0;
}

static int queue_parts(struct cay_conn *c, const struct iovec *parts, unsigned count, size_t total)
{
        if (total > 0 && !cay_buf_room(&c->out, total))
                return -ENOMEM;
        for (unsigned i = 0; i < count; i++)
                cay_buf_put(&c->out, parts[i].iov_base, parts[i].iov_len);
        return 0;
}

static void note_high(struct cay_conn *c)
{
        if (c->out.len >= CAY_CONN_HIGH)
                c->was_high = true;
}

int cay_conn_writev(struct cay_conn *c, const struct iovec *parts, unsigned count)
{
        bool waits = c->watch.events & EPOLLOUT && c->out.len > 0; /* the kernel had no room a moment ago */
        size_t total = 0;
        int r;

        assert(count <= PARTS_MAX);
        if (c->state != CAY_CONN_OPEN || c->write_error != 0 || c->shut_asked)
                return -EPIPE;
        for (unsigned i = 0; i < count; i++)
                total += parts[i].iov_len;
        r = cay_buf_check(&c->out, total);
        if (r < 0)
                return r;
        if (!c->tls && !waits && (c->corked == 0 || c->out.len + total >= DIRECT_MIN)) {
                r = write_direct(c, parts, count);
                if (c->corked == 0)
                        cay_conn_update_watch(c);
        } else {
                r = queue_parts(c, parts, count, total);
                if (r == 0 && !waits && (c->corked == 0 || c->out.len >= DIRECT_MIN))
                        cay_conn_flush(c);
        }
        note_high(c);
        return r < 0 ? r : 0;
}

int cay_conn_check(const struct cay_conn *c, size_t len)
{
        if (c->state != CAY_CONN_OPEN || c->write_error != 0 || c->shut_asked)
                return -EPIPE;
        return cay_buf_check(&c->out, len);
}

int cay_conn_write(struct cay_conn *c, const void *bytes, size_t len)
{
        struct iovec part = { .iov_base = (void *)bytes, .iov_len = len };

        return cay_conn_writev(c, &part, 1);
}

char *cay_conn_room(struct cay_conn *c, size_t len)
{
        assert(c->corked > 0);
        if (c->state != CAY_CONN_OPEN || c->write_error != 0 || c->shut_asked)
                return NULL;
        return cay_buf_room(&c->out, len);
}

void cay_conn_put(struct cay_conn *c, size_t len)
{
        cay_buf_added(&c->out, len);
        note_high(c);
}

void cay_conn_ask_drain(struct cay_conn *c)
{
        c->was_high = true;
        if (c->out.len <= CAY_CONN_LOW)
                cay_conn_kick(c);
}

void cay_conn_cork(struct cay_conn *c)
{
        c->corked++;
}

void cay_conn_uncork(struct cay_conn *c)
{
        assert(c->corked > 0);
        if (--c->corked == 0 && c->state != CAY_CONN_CLOSED)
                cay_conn_flush(c);
}

void cay_conn_shut(struct cay_conn *c)
{
        if (c->state != CAY_CONN_OPEN || c->shut_asked)
                return;
        c->shut_asked = true;
        if (c->corked == 0)
                cay_conn_flush(c);
}

void cay_conn_finish(struct cay_conn *c, bool linger)
{
        if (c->state != CAY_CONN_OPEN)
                return;
        c->state = CAY_CONN_FLUSHING;
        c->linger = linger;
        c->deadline_ms = 0;
        cay_buf_done(&c->in);
        if (c->corked == 0)
                cay_conn_flush(c);
}
