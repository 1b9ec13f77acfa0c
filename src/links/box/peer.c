/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames over one byte stream.
 *
 * Theory of operation. Reading: bytes are collected in `in` until a frame is complete, and the frame is
 * passed on in place. The data of one read is always handled before the next read, so `in` never holds more
 * than one unfinished frame and one chunk. A chunk is small while there is little traffic and grows to
 * CHUNK_MAX under load; an idle peer keeps no large buffer. A round stops reading after ROUND_FRAMES or
 * ROUND_BYTES: level-triggered polling resumes it after the other descriptors.
 *
 * Writing: while nothing is queued, header and payload are sent in one sendmsg straight from the caller's
 * memory; only what the kernel did not take is copied to `out`. DATA is refused as soon as OUT_DATA bytes are
 * queued: its bytes are kept in the sender's ring, so a second copy is pointless. Control frames may fill the
 * rest of `out`. Small frames (ACKs) that are sent while a batch of frames is handled are flushed together
 * afterwards.
 *
 * Both directions full: the front always reads, however full its `out` is, since its output is limited by its
 * own consumption. Init answers requests (PONG, OPENED, END), so it stops reading when its answers pile up.
 * If both stopped, they could deadlock. If only one stops, the other drains it.
 *
 * A failed write does not end the link at once: the other end may have sent its final output and exited (a
 * one-shot box does), and that output is still to be read. Sends are refused from then on; the link is lost
 * when nothing more can be read.
 */
#include "links/box/peer.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "foundation/base/cleanup.h"

enum {
        CHUNK_MIN = 8 * 1024,
        CHUNK_MAX = 128 * 1024,
        IN_MAX = CAY_FRAME_HEADER + CAY_FRAME_MAX + CHUNK_MAX,
        OUT_MAX = 512 * 1024,
        OUT_DATA = 64 * 1024,   /* above: no DATA */
        OUT_PAUSE = 256 * 1024, /* above: init reads no more */
        OUT_SMALL = 4096,       /* frames up to this size are collected while corked */
        OUT_KEEP = 16 * 1024,   /* larger empty buffers are freed */
        ROUND_FRAMES = 16,
        ROUND_BYTES = 1024 * 1024,
        LAST_ROUNDS = 256, /* more than a socket can hold, even one byte at a time */
};

bool cay_peer_is_open(const struct cay_peer *p)
{
        return p->is_open && !p->lost;
}

bool cay_peer_is_flushed(const struct cay_peer *p)
{
        return p->out.len == 0;
}

bool cay_peer_has_unread(const struct cay_peer *p)
{
        struct pollfd ask = { .fd = p->fd, .events = POLLIN };

        return cay_peer_is_open(p) && poll(&ask, 1, 0) > 0;
}

static bool can_send(const struct cay_peer *p)
{
        return cay_peer_is_open(p) && p->write_error == 0;
}

bool cay_peer_has_room(const struct cay_peer *p)
{
        return can_send(p) && p->out.len < OUT_DATA;
}

static void update_watch(struct cay_peer *p)
{
        uint32_t events = 0;

        if (!cay_peer_is_open(p))
                return;
        if (!p->reading_paused)
                events |= EPOLLIN;
        /* After a failed write, EPOLLOUT reliably wakes us to read the rest and finish. */
        if (p->out.len > 0 || p->short_of_room || p->write_error != 0)
                events |= EPOLLOUT;
        cay_watch_set(&p->watch, events);
}

static void trim_out(struct cay_peer *p)
{
        if (p->out.len == 0 && p->out.cap > OUT_KEEP)
                cay_buf_done(&p->out);
}

static void fail_writes(struct cay_peer *p, int error)
{
        p->write_error = error;
        p->reading_paused = false;
        cay_buf_done(&p->out);
        update_watch(p);
}

static ssize_t write_some(struct cay_peer *p, struct iovec *parts, int count)
{
        struct msghdr msg = { .msg_iov = parts, .msg_iovlen = (size_t)count };
        ssize_t n;

        for (;;) {
                if (p->is_plain)
                        n = writev(p->fd, parts, count);
                else
                        n = sendmsg(p->fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
                if (n >= 0)
                        return n;
                if (errno == ENOTSOCK && !p->is_plain)
                        p->is_plain = true;
                else if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS)
                        return 0;
                else if (errno != EINTR)
                        return -errno;
        }
}

/* Writes the queue, then header and payload. What the kernel did not accept is queued. */
static int write_all(struct cay_peer *p, const uint8_t *header, const void *payload, size_t len)
{
        struct iovec parts[3];
        size_t queued = p->out.len, done;
        int count = 0;
        ssize_t n;

        if (queued > 0)
                parts[count++] = (struct iovec){ .iov_base = cay_buf_data(&p->out), .iov_len = queued };
        if (header)
                parts[count++] = (struct iovec){ .iov_base = (void *)header, .iov_len = CAY_FRAME_HEADER };
        if (len > 0)
                parts[count++] = (struct iovec){ .iov_base = (void *)payload, .iov_len = len };
        n = write_some(p, parts, count);
        if (n < 0)
                return (int)n;

        done = (size_t)n < queued ? (size_t)n : queued;
        cay_buf_drop(&p->out, done);
        done = (size_t)n - done;
        if (header && done < CAY_FRAME_HEADER) {
                int r = cay_buf_put(&p->out, header + done, CAY_FRAME_HEADER - done);

                if (r < 0)
                        return r;
                done = CAY_FRAME_HEADER;
        }
        if (header && done < CAY_FRAME_HEADER + len) {
                done -= CAY_FRAME_HEADER;
                return cay_buf_put(&p->out, (const uint8_t *)payload + done, len - done);
        }
        return 0;
}

static int queue(struct cay_peer *p, const uint8_t *header, const void *payload, size_t len)
{
        if (!cay_buf_room(&p->out, CAY_FRAME_HEADER + len))
                return -ENOMEM;
        cay_buf_put(&p->out, header, CAY_FRAME_HEADER);
        return cay_buf_put(&p->out, payload, len);
}

static void flush(struct cay_peer *p)
{
        int r = 0;

        if (p->out.len > 0 && can_send(p))
                r = write_all(p, NULL, NULL, 0);
        if (r < 0)
                fail_writes(p, r);
        trim_out(p);
        if (p->reading_paused && p->out.len < OUT_PAUSE)
                p->reading_paused = false;
        update_watch(p);
}

int cay_peer_send(struct cay_peer *p, unsigned type, uint32_t channel, unsigned stream, uint64_t seq,
                  const void *payload, size_t len)
{
        struct cay_frame f = { .len = (uint32_t)len,
                               .channel = channel,
                               .seq = seq,
                               .type = (uint16_t)type,
                               .stream = (uint16_t)stream };
        uint8_t header[CAY_FRAME_HEADER];
        int r;

        assert(len <= CAY_FRAME_MAX);
        if (!can_send(p))
                return -EPIPE;
        if (CAY_FRAME_HEADER + len > cay_buf_left(&p->out) ||
            (type == CAY_FRAME_DATA && p->out.len >= OUT_DATA)) {
                p->short_of_room = true;
                update_watch(p);
                return -ENOSPC;
        }
        cay_frame_encode(&f, header);
        /* While EPOLLOUT is watched, the kernel had no room a moment ago. */
        if ((p->corked > 0 && CAY_FRAME_HEADER + len <= OUT_SMALL) || (p->watch.events & EPOLLOUT))
                r = queue(p, header, payload, len);
        else
                r = write_all(p, header, payload, len);
        if (r < 0) {
                fail_writes(p, r);
                return -EPIPE;
        }
        if (p->out.len >= OUT_DATA)
                p->short_of_room = true;
        if (p->corked == 0)
                update_watch(p);
        return 0;
}

void cay_peer_cork(struct cay_peer *p)
{
        p->corked++;
}

void cay_peer_uncork(struct cay_peer *p)
{
        assert(p->corked > 0);
        if (--p->corked == 0 && can_send(p))
                flush(p);
}

/* p may be freed on return. */
static void lose(struct cay_peer *p, int reason)
{
        cay_watch_remove(&p->watch);
        p->lost = true;
        cay_buf_done(&p->in);
        cay_buf_done(&p->out);
        p->on_lost(p, reason);
}

/*
 * Handles every complete frame in the buffer, or stops at a pause. Returns the count, -errno for a bad frame,
 * or -ESHUTDOWN when a callback closed the peer: p may be freed then.
 */
static int dispatch(struct cay_peer *p)
{
        int frames = 0, r;

        while (p->in.len >= CAY_FRAME_HEADER && !p->reading_paused) {
                const uint8_t *at = (const uint8_t *)cay_buf_data(&p->in);
                struct cay_frame f;
                bool gone = false;

                r = cay_frame_decode(at, p->from, &f);
                if (r < 0)
                        return r;
                if (p->in.len < CAY_FRAME_HEADER + f.len)
                        break;
                p->gone = &gone;
                r = p->on_frame(p, &f, at + CAY_FRAME_HEADER);
                if (gone)
                        return -ESHUTDOWN;
                p->gone = NULL;
                if (r < 0)
                        return r;
                cay_buf_drop(&p->in, CAY_FRAME_HEADER + f.len);
                frames++;
                /*
                 * Complete frames may be left in the buffer. short_of_room was set long before, so an
                 * EPOLLOUT follows.
                 */
                if (p->from == CAY_SIDE_FRONT && p->write_error == 0 && p->out.len >= OUT_PAUSE)
                        p->reading_paused = true;
        }
        return frames;
}

/* Size of the next read: the rest of a frame whose header has arrived, plus a chunk. */
static size_t wanted_bytes(const struct cay_peer *p)
{
        struct cay_frame f;

        if (p->in.len < CAY_FRAME_HEADER ||
            cay_frame_decode((const uint8_t *)cay_buf_data(&p->in), p->from, &f) < 0)
                return p->chunk;
        f.len += CAY_FRAME_HEADER;
        if (f.len < p->in.len + p->chunk)
                return p->chunk;
        return f.len - p->in.len;
}

static ssize_t read_some(struct cay_peer *p, bool *ret_is_drained)
{
        size_t want = wanted_bytes(p);
        char *to = cay_buf_room(&p->in, want);
        ssize_t n;

        if (!to)
                return -ENOMEM;
        do {
                n = read(p->fd, to, want);
        } while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        cay_buf_added(&p->in, (size_t)n);
        *ret_is_drained = (size_t)n < want;
        if ((size_t)n == want && p->chunk < CHUNK_MAX)
                p->chunk *= 2;
        else if ((size_t)n < p->chunk / 8 && p->chunk > CHUNK_MIN)
                p->chunk /= 2;
        return n;
}

/* Reads and handles one round's share. 1: p is valid; 0: p was lost or closed and may be freed. */
static int read_round(struct cay_peer *p)
{
        size_t bytes = 0;
        int frames = 0, r = 0;
        bool drained = false;

        for (;;) {
                ssize_t n;

                r = dispatch(p);
                if (r < 0)
                        break;
                frames += r;
                if (p->reading_paused || drained || frames >= ROUND_FRAMES || bytes >= ROUND_BYTES)
                        return 1;
                n = read_some(p, &drained);
                if (n == -EAGAIN || n == -EWOULDBLOCK) {
                        if (p->write_error == 0)
                                return 1;
                        n = p->write_error;
                }
                if (n <= 0) {
                        r = (int)n;
                        break;
                }
                bytes += (size_t)n;
        }
        if (r != -ESHUTDOWN)
                lose(p, r);
        return 0;
}

void cay_peer_read_out(struct cay_peer *p)
{
        for (unsigned i = 0; i < LAST_ROUNDS && cay_peer_has_unread(p); i++) {
                p->corked++;
                if (!read_round(p))
                        return;
                p->corked--;
                flush(p);
        }
}

static void on_event(struct cay_watch *w, uint32_t events)
{
        struct cay_peer *p = cay_container_of(w, struct cay_peer, watch);
        bool was_short = !cay_peer_has_room(p) || p->short_of_room;

        /* A hang-up while reading is paused shows as a failed write, which ends the pause. */
        if (events & (EPOLLOUT | EPOLLHUP | EPOLLERR)) {
                flush(p);
                if (was_short && cay_peer_has_room(p)) {
                        bool gone = false;

                        p->short_of_room = false;
                        p->gone = &gone;
                        p->on_room(p);
                        if (gone)
                                return;
                        p->gone = NULL;
                }
        }
        if (!(events & ~(uint32_t)EPOLLOUT) && p->in.len == 0 && p->write_error == 0)
                return;
        p->corked++;
        if (!read_round(p))
                return;
        p->corked--;
        flush(p);
        if (p->in.len == 0 && p->in.cap > CHUNK_MAX / 4 && p->chunk <= CHUNK_MAX / 4)
                cay_buf_done(&p->in);
}

int cay_peer_open_take(struct cay_loop *loop, struct cay_peer *p, int fd, enum cay_frame_side from)
{
        cay_auto_close int taken = fd;
        int flags = fcntl(fd, F_GETFL), r;

        assert(!p->is_open);
        if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
                return -errno;
        r = cay_watch_add(loop, &p->watch, fd, EPOLLIN, on_event);
        if (r < 0)
                return r;
        cay_buf_init(&p->in, IN_MAX);
        cay_buf_init(&p->out, OUT_MAX);
        p->from = from;
        p->lost = p->reading_paused = p->is_plain = p->short_of_room = false;
        p->write_error = 0;
        p->corked = 0;
        p->chunk = CHUNK_MIN;
        p->gone = NULL;
        p->is_open = true;
        p->fd = cay_take_fd(taken);
        return 0;
}

void cay_peer_close(struct cay_peer *p)
{
        if (p->gone)
                *p->gone = true;
        p->gone = NULL;
        if (!p->is_open)
                return;
        cay_watch_remove(&p->watch);
        cay_buf_done(&p->in);
        cay_buf_done(&p->out);
        close(p->fd);
        p->is_open = false;
        p->lost = false;
}
