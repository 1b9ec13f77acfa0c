/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Byte connections; the theory of operation is in conn.h.
 *
 * There are no callbacks inside a call of the owner. A failed write or an immediate end is recorded and
 * reported from the kick, which the loop runs at the end of the round. So an owner is never closed in the
 * middle of its own function.
 *
 * Deadlines are kept as points in time and the timer is moved only towards the present: extending a deadline
 * with every request costs only one reading of the clock, and a timer that fires too early is re-armed.
 */
#include "foundation/http/conn.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>

#include "foundation/base/clock.h"
#include "foundation/http/conn_priv.h"
#include "foundation/http/tls.h"
#include "foundation/sys/unix_socket.h"

enum {
        CHUNK_MIN = 4 * 1024,
        CHUNK_MAX = 64 * 1024,
        ROUND_BYTES = 512 * 1024,
        LINGER_IDLE_MS = 3000,
};

static void on_event(struct cay_watch *w, uint32_t events);

bool cay_conn_is_open(const struct cay_conn *c)
{
        return c->state == CAY_CONN_OPEN;
}

static bool can_read(const struct cay_conn *c)
{
        return c->state == CAY_CONN_OPEN && !c->paused && !c->eof && !c->starved && cay_buf_left(&c->in) > 0;
}

/* Restore what update_watch asks for; otherwise the end would not be noticed. */
static void watch_again(struct cay_conn *c)
{
        c->unwatched = false;
        if (cay_watch_add(c->loop, &c->watch, c->fd, 0, on_event) < 0) {
                c->write_error = -ENOMEM;
                cay_conn_kick(c);
        }
}

void cay_conn_update_watch(struct cay_conn *c)
{
        uint32_t events = 0;

        if (c->state == CAY_CONN_CLOSED)
                return;
        if (c->unwatched && c->state == CAY_CONN_OPEN && !can_read(c))
                return;
        if (c->unwatched)
                watch_again(c);
        if (can_read(c) || c->state == CAY_CONN_LINGERING)
                events |= c->read_wants_out ? EPOLLOUT : EPOLLIN;
        if (c->state == CAY_CONN_OPEN && !c->fin && c->events->on_fin)
                events |= EPOLLRDHUP;
        if (c->out.len > 0 && c->write_error == 0)
                events |= c->write_wants_in ? EPOLLIN : EPOLLOUT;
        cay_watch_set(&c->watch, events);
}

/* Deadlines */

static void on_time(struct cay_timer *t);

void cay_conn_arm(struct cay_conn *c, uint64_t now_ms)
{
        uint64_t due_ms = c->deadline_ms;

        if (c->stalled_ms && (!due_ms || c->stalled_ms < due_ms))
                due_ms = c->stalled_ms;
        if (!due_ms || (c->timer.loop && c->timer.due_ms <= due_ms))
                return;
        /* Without a timer (no memory for its slot) the connection would have no deadline: refuse it. */
        if (cay_timer_set(c->loop, &c->timer, due_ms > now_ms ? due_ms - now_ms : 0, on_time) < 0) {
                c->write_error = -ENOMEM;
                cay_conn_kick(c);
        }
}

void cay_conn_set_deadline(struct cay_conn *c, uint64_t after_ms)
{
        uint64_t now_ms;

        if (c->state != CAY_CONN_OPEN)
                return;
        if (after_ms == 0) {
                c->deadline_ms = 0;
                return;
        }
        now_ms = cay_clock_ms();
        c->deadline_ms = now_ms + after_ms;
        cay_conn_arm(c, now_ms);
}

/* The write queue has stalled, or has moved again. */
void cay_conn_note_stall(struct cay_conn *c)
{
        uint64_t now_ms;

        if (c->out.len == 0 || c->stall_ms == 0) {
                c->stalled_ms = 0;
                return;
        }
        now_ms = cay_clock_ms();
        c->stalled_ms = now_ms + c->stall_ms;
        cay_conn_arm(c, now_ms);
}

/* Discarded input arrived: extend the sender's time to finish sending and start reading, within a bound. */
void cay_conn_note_linger(struct cay_conn *c)
{
        uint64_t now_ms = cay_clock_ms();

        c->deadline_ms =
                now_ms + LINGER_IDLE_MS < c->linger_end_ms ? now_ms + LINGER_IDLE_MS : c->linger_end_ms;
        cay_conn_arm(c, now_ms);
}

/* Ends */

void cay_conn_close(struct cay_conn *c)
{
        if (c->state == CAY_CONN_CLOSED)
                return;
        c->state = CAY_CONN_CLOSED;
        cay_watch_remove(&c->watch);
        cay_timer_clear(&c->timer);
        cay_tls_free(cay_take(c->tls));
        cay_buf_done(&c->in);
        cay_buf_done(&c->out);
        if (c->passed_fd >= 0)
                close(cay_take_fd(c->passed_fd));
        close(cay_take_fd(c->fd));
}

static void lose(struct cay_conn *c, int why)
{
        c->tls_fault = c->tls ? cay_tls_fault(c->tls) : CAY_TLS_NO_FAULT;
        cay_conn_close(c);
        c->events->on_lost(c, why);
}

static int socket_error(const struct cay_conn *c)
{
        socklen_t len = sizeof(int);
        int error = 0;

        if (getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 || error == 0)
                return -ECONNRESET;
        return -error;
}

static void on_time(struct cay_timer *t)
{
        struct cay_conn *c = cay_container_of(t, struct cay_conn, timer);
        uint64_t now_ms = cay_clock_ms();

        if (c->stalled_ms && now_ms >= c->stalled_ms) {
                lose(c, -ETIMEDOUT);
                return;
        }
        if (c->deadline_ms && now_ms >= c->deadline_ms) {
                c->deadline_ms = 0;
                if (c->state != CAY_CONN_OPEN) {
                        lose(c, c->state == CAY_CONN_LINGERING ? 0 : -ETIMEDOUT);
                        return;
                }
                c->events->on_deadline(c);
                if (c->state == CAY_CONN_CLOSED)
                        return;
        }
        cay_conn_arm(c, now_ms);
}

/* Reading */

void cay_conn_took(struct cay_conn *c, size_t len)
{
        bool was_full = cay_buf_left(&c->in) == 0;

        cay_buf_drop(&c->in, len);
        if (was_full && len > 0)
                cay_conn_update_watch(c);
}

void cay_conn_pause(struct cay_conn *c)
{
        c->paused = true;
        cay_conn_update_watch(c);
}

void cay_conn_resume(struct cay_conn *c)
{
        if (!c->paused)
                return;
        c->paused = false;
        cay_conn_update_watch(c);
        if (c->in.len > 0 || c->eof || (c->tls && cay_tls_has_pending(c->tls)))
                cay_conn_kick(c);
}

static ssize_t recv_with_fds(struct cay_conn *c, char *to, size_t size)
{
        int fds[SYS_FDS_MAX];
        unsigned count = 0;
        ssize_t n = sys_recv_fds(c->fd, to, size, fds, &count, MSG_DONTWAIT);

        if (n < 0 || count == 0)
                return n;
        if (c->passed_fd < 0) {
                c->passed_fd = fds[0];
                sys_close_fds(fds + 1, count - 1);
        } else {
                sys_close_fds(fds, count);
        }
        return n;
}

static ssize_t read_into(struct cay_conn *c, char *to, size_t size)
{
        ssize_t n;

        c->read_wants_out = false;
        if (c->tls)
                return cay_tls_read(c->tls, to, size, &c->read_wants_out);
        if (c->is_unix)
                return recv_with_fds(c, to, size);
        do
                n = recv(c->fd, to, size, MSG_DONTWAIT);
        while (n < 0 && errno == EINTR);
        return n < 0 ? -errno : n;
}

static ssize_t read_some(struct cay_conn *c, bool *ret_is_drained)
{
        size_t left = cay_buf_left(&c->in), want = c->chunk < left ? c->chunk : left;
        char *to = cay_buf_room(&c->in, want);
        ssize_t n;

        if (!to && want > CHUNK_MIN) {
                want = CHUNK_MIN;
                to = cay_buf_room(&c->in, want);
        }
        if (!to)
                return cay_buf_check(&c->in, want) == -ENOBUFS ? -ENOBUFS : -ENOMEM;
        n = read_into(c, to, want);
        if (n < 0)
                return n == -EWOULDBLOCK ? -EAGAIN : n;
        cay_buf_added(&c->in, (size_t)n);
        *ret_is_drained = (size_t)n < want && !c->tls;
        if ((size_t)n == c->chunk && c->chunk < CHUNK_MAX)
                c->chunk *= 2;
        else if ((size_t)n < c->chunk / 8 && c->chunk > CHUNK_MIN)
                c->chunk /= 2;
        return n;
}

/* No room to read: the owner has to end it. */
static void starve(struct cay_conn *c)
{
        c->starved = true;
        c->events->on_input(c);
        if (c->state == CAY_CONN_OPEN)
                lose(c, -ENOBUFS);
}

/* Reads one round's share of input. The connection may be lost or finished afterwards. */
static void read_round(struct cay_conn *c)
{
        size_t bytes = 0;
        bool drained = false;

        while (can_read(c) && !drained && bytes < ROUND_BYTES) {
                ssize_t n = read_some(c, &drained);

                if (n == -EAGAIN)
                        break;
                if (n == -ENOBUFS) {
                        starve(c);
                        return;
                }
                if (n < 0) {
                        lose(c, (int)n);
                        return;
                }
                if (n == 0) {
                        c->eof = true;
                        drained = true;
                }
                bytes += (size_t)n;
                c->events->on_input(c);
        }
        if (can_read(c) && c->tls && cay_tls_has_pending(c->tls))
                cay_conn_kick(c);
}

/* Finishing: further input is read and discarded, so that the other side gets to read our answer. */
static void discard_round(struct cay_conn *c)
{
        char waste[16 * 1024];

        for (size_t bytes = 0; bytes < ROUND_BYTES;) {
                ssize_t n = recv(c->fd, waste, sizeof(waste), MSG_DONTWAIT);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
                        return;
                if (n <= 0) {
                        lose(c, 0);
                        return;
                }
                cay_conn_note_linger(c);
                bytes += (size_t)n;
        }
}

static void tell_fin(struct cay_conn *c)
{
        if (c->fin || c->state != CAY_CONN_OPEN)
                return;
        c->fin = true;
        if (c->events->on_fin)
                c->events->on_fin(c);
}

/* The queue went from high to low: the writer may continue. */
static void tell_drain(struct cay_conn *c)
{
        if (c->state != CAY_CONN_OPEN || !c->was_high || c->out.len > CAY_CONN_LOW)
                return;
        c->was_high = false;
        c->events->on_drain(c);
}

/* The kernel may hold bytes that the owner must get before it is notified of the end. */
static bool must_drain(const struct cay_conn *c)
{
        return c->drains && c->state == CAY_CONN_OPEN && !c->eof;
}

/* A hang-up or error is reported even when not requested, so it must end here or the loop would spin. */
static void hang_up(struct cay_conn *c, uint32_t events)
{
        if (must_drain(c)) {
                if (!can_read(c)) {
                        cay_watch_remove(&c->watch);
                        c->unwatched = true;
                }
                return;
        }
        if (c->state != CAY_CONN_OPEN)
                lose(c, c->state == CAY_CONN_LINGERING ? 0 : -ECONNRESET);
        else if (events & EPOLLERR)
                lose(c, socket_error(c));
        else if (!can_read(c)) /* else read first what was sent before */
                lose(c, c->eof && c->end_said ? 0 : -ECONNRESET);
}

static void settle(struct cay_conn *c)
{
        if (--c->corked > 0 || c->state == CAY_CONN_CLOSED)
                return;
        if (c->in.len == 0)
                cay_buf_done(&c->in); /* idle connections keep no buffers */
        cay_conn_flush(c);
}

static void on_event(struct cay_watch *w, uint32_t events)
{
        struct cay_conn *c = cay_container_of(w, struct cay_conn, watch);

        c->corked++;
        if (c->state == CAY_CONN_LINGERING) {
                discard_round(c);
        } else {
                if (c->out.len > 0 && events & (c->write_wants_in ? EPOLLIN : EPOLLOUT)) {
                        cay_conn_flush(c);
                        tell_drain(c);
                }
                if (events & ~(uint32_t)EPOLLOUT || c->read_wants_out)
                        read_round(c);
                if (events & EPOLLRDHUP || c->eof)
                        tell_fin(c);
        }
        if (events & (EPOLLHUP | EPOLLERR) && c->state != CAY_CONN_CLOSED)
                hang_up(c, events);
        settle(c);
}

/* The other side reads no more; data that it has sent is still valid. */
static bool is_refusal(int error)
{
        return error == -EPIPE || error == -ECONNRESET;
}

static void on_kick(struct cay_deferred *d)
{
        struct cay_conn *c = cay_container_of(d, struct cay_conn, kick);

        c->kicked = false;
        if (c->state == CAY_CONN_CLOSED)
                return;
        if (c->write_error != 0 && !(must_drain(c) && is_refusal(c->write_error))) {
                lose(c, c->write_error);
                return;
        }
        if (c->ended) {
                lose(c, 0);
                return;
        }
        c->corked++;
        if (c->state == CAY_CONN_OPEN && !c->paused) {
                c->events->on_input(c);
                if (c->tls && can_read(c) && cay_tls_has_pending(c->tls))
                        read_round(c);
                if (c->eof)
                        tell_fin(c);
        }
        tell_drain(c);
        settle(c);
}

void cay_conn_kick(struct cay_conn *c)
{
        if (c->kicked || c->state == CAY_CONN_CLOSED)
                return;
        c->kicked = true;
        c->kick.run = on_kick;
        cay_loop_defer(c->loop, &c->kick);
}

void cay_conn_charge(struct cay_conn *c, struct cay_budget *in, struct cay_budget *out)
{
        cay_buf_charge(&c->in, in);
        cay_buf_charge(&c->out, out);
}

int cay_conn_open_take(struct cay_loop *loop, struct cay_conn *c, int fd, struct cay_tls *tls, size_t in_max,
                       const struct cay_conn_events *events)
{
        int flags = fcntl(fd, F_GETFL), domain = 0, r = 0;
        socklen_t len = sizeof(domain);

        assert(c->state == CAY_CONN_CLOSED && !c->kicked);
        *c = (struct cay_conn){
                .events = events, .loop = loop, .passed_fd = -1, .chunk = CHUNK_MIN, .fd = -1
        };
        if (flags < 0 || (!(flags & O_NONBLOCK) && fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) ||
            getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) < 0)
                r = -errno;
        else
                r = cay_watch_add(loop, &c->watch, fd, EPOLLIN | (events->on_fin ? EPOLLRDHUP : 0), on_event);
        if (r < 0) {
                cay_tls_free(tls);
                close(fd);
                return r;
        }
        cay_buf_init(&c->in, in_max);
        cay_buf_init(&c->out, CAY_CONN_OUT_MAX);
        c->fd = fd;
        c->tls = tls;
        c->is_unix = domain == AF_UNIX;
        c->state = CAY_CONN_OPEN;
        return 0;
}
