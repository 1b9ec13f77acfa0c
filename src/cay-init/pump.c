/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moving bytes between a channel's process and its rings.
 *
 * A pump that has no room removes its watch: a level-triggered watch without events would still report the
 * writer's hang-up forever. Output after the process's own end is read and dropped, at a bounded rate: a
 * background process must neither block on it nor keep init busy.
 */
#include "cay-init/channel.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "cay-init/exec.h"
#include "cay-init/pty.h"

#define PIECE (64u * 1024)
#define GULP                                                                                                 \
        (256u *                                                                                              \
         1024) /* of a read into the ring: a writer that waits for room is woken once, not for each piece */
#define DROP_EVERY_MS 10
#define TTY_LEFT (64u * 1024) /* a terminal's buffers hold no more */

static char scratch[PIECE];

static void on_readable(struct cay_watch *w, uint32_t events);

void cay_pump_init(struct cay_pump *p, struct cay_channel *ch)
{
        *p = (struct cay_pump){ .fd = -1, .channel = ch };
}

static void pump_close(struct cay_pump *p)
{
        cay_watch_remove(&p->watch);
        if (p->fd >= 0)
                close(p->fd);
        p->fd = -1;
}

void cay_pump_stop(struct cay_pump *p)
{
        pump_close(p);
        if (p->used)
                cay_sender_done(&p->sender);
}

static int watch_on(struct cay_pump *p)
{
        if (p->fd < 0 || p->watch.loop)
                return 0;
        return cay_watch_add(p->channel->init->loop, &p->watch, p->fd, EPOLLIN, on_readable);
}

int cay_pump_start_take(struct cay_pump *p, int fd)
{
        p->fd = fd;
        return watch_on(p);
}

bool cay_pump_is_done(const struct cay_pump *p)
{
        return !p->used || p->sender.eof;
}

/* The stream is complete. at_end: no process can write to it any more. */
static void complete(struct cay_pump *p, bool at_end)
{
        p->sender.eof = true;
        if (at_end) {
                pump_close(p);
                return;
        }
        p->dropping = true;
        if (watch_on(p) < 0)
                pump_close(p);
}

void cay_pump_abandon(struct cay_pump *p)
{
        if (!p->used)
                return;
        cay_sender_done(&p->sender);
        p->sender.acked = p->sender.sent = p->sender.written;
        complete(p, false);
}

static void on_drop_time(struct cay_timer *t)
{
        struct cay_channel *ch = cay_container_of(t, struct cay_channel, drop_timer);

        for (int i = 0; i < CAY_CHANNEL_OUTS; i++) {
                if (ch->pumps[i].dropping && watch_on(&ch->pumps[i]) < 0)
                        pump_close(&ch->pumps[i]);
        }
}

static void drop_some(struct cay_pump *p)
{
        ssize_t n = read(p->fd, scratch, sizeof(scratch));

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n <= 0) {
                pump_close(p);
                cay_channel_step(p->channel);
                return;
        }
        cay_watch_remove(&p->watch);
        if (!p->channel->drop_timer.loop)
                cay_timer_set(p->channel->init->loop, &p->channel->drop_timer, DROP_EVERY_MS, on_drop_time);
}

/* One read. True: there may be more and room for it. */
static bool read_some(struct cay_pump *p)
{
        struct cay_channel *ch = p->channel;
        struct iovec room[2];
        uint64_t most = GULP, keep;
        ssize_t n;
        int pieces;

        if (p->limited && p->left < most)
                most = p->left;
        keep = cay_exec_output_left(ch);
        if (keep == 0) { /* beyond the output limit: counted, not kept */
                n = read(p->fd, scratch, most < sizeof(scratch) ? most : sizeof(scratch));
        } else {
                if (keep < most)
                        most = keep;
                pieces = cay_sender_room(&p->sender, room);
                if (pieces == 0) {
                        cay_watch_remove(&p->watch);
                        return false;
                }
                if (room[0].iov_len >= most) {
                        room[0].iov_len = most;
                        pieces = 1;
                } else if (pieces == 2 && room[0].iov_len + room[1].iov_len > most) {
                        room[1].iov_len = most - room[0].iov_len;
                }
                n = readv(p->fd, room, pieces);
                if (n > 0)
                        cay_sender_wrote(&p->sender, (size_t)n);
        }
        if (n < 0 && errno == EINTR)
                return true;
        if (n < 0 && errno == EAGAIN) {
                if (p->limited)
                        complete(p, false);
                return false;
        }
        if (n <= 0) { /* end of the pipe; EIO: the terminal's other side is closed */
                complete(p, true);
                return false;
        }
        p->bytes += (uint64_t)n;
        cay_exec_output(ch, (uint64_t)n, keep > 0);
        if (p->limited) {
                p->left -= (uint64_t)n;
                if (p->left == 0)
                        complete(p, false);
        }
        return !p->sender.eof;
}

static void on_readable(struct cay_watch *w, uint32_t events)
{
        struct cay_pump *p = cay_container_of(w, struct cay_pump, watch);

        if (p->dropping) {
                drop_some(p);
                return;
        }
        if (!(events & EPOLLIN) && !(p->channel->exec_flags & CAY_BOX_TTY))
                complete(p, true); /* empty and closed: no ring is needed to find out */
        else
                read_some(p);
        cay_channel_step(p->channel);
}

void cay_pump_go(struct cay_pump *p)
{
        if (!p->used || p->fd < 0 || p->watch.loop || p->dropping)
                return;
        if (p->limited) {
                while (read_some(p))
                        ;
                if (p->fd < 0 || p->sender.eof)
                        return;
        }
        if (cay_sender_has_room(&p->sender) && watch_on(p) < 0)
                complete(p, true);
}

void cay_pump_rest(struct cay_pump *p)
{
        if (!p->limited && !p->dropping)
                cay_watch_remove(&p->watch);
}

void cay_pump_limit(struct cay_pump *p)
{
        int now = 0;

        if (!p->used || p->limited || p->dropping || p->fd < 0)
                return;
        /* A terminal's last bytes may still be in a kernel work queue; reading waits for them. */
        if (p->channel->exec_flags & CAY_BOX_TTY)
                p->left = TTY_LEFT;
        else if (ioctl(p->fd, FIONREAD, &now) == 0 && now > 0)
                p->left = (uint64_t)now;
        p->limited = true;
        if (p->left == 0) { /* later output is dropped, if another process can still write */
                complete(p, read(p->fd, scratch, sizeof(scratch)) == 0);
                return;
        }
        cay_watch_remove(&p->watch);
        cay_pump_go(p);
}

void cay_feed_init(struct cay_feed *f)
{
        *f = (struct cay_feed){ .fd = -1 };
}

void cay_feed_stop(struct cay_feed *f)
{
        cay_watch_remove(&f->watch);
        if (f->fd >= 0)
                close(f->fd);
        f->fd = -1;
        cay_buf_done(&f->waiting);
}

static void on_writable(struct cay_watch *w, uint32_t events)
{
        struct cay_channel *ch = cay_container_of(w, struct cay_channel, feed.watch);

        cay_feed_go(ch);
        cay_channel_step(ch);
}

/* Nobody reads any more: the front's input is accepted and dropped, so that the front does not wait. */
static void feed_break(struct cay_feed *f)
{
        cay_watch_remove(&f->watch);
        if (f->fd >= 0)
                close(f->fd);
        f->fd = -1;
        cay_buf_clear(&f->waiting);
}

static void feed_end(struct cay_channel *ch)
{
        struct cay_feed *f = &ch->feed;

        if (ch->kind == CAY_BOX_WRITE && ch->status_fd >= 0)
                send(ch->status_fd, "", 1, MSG_NOSIGNAL | MSG_DONTWAIT); /* a worker trusts no other end */
        if (f->tty) {
                int c = cay_pty_eof_char(f->fd);
                char eof = (char)c;

                if (c >= 0 && write(f->fd, &eof, 1) < 0)
                        c = -1; /* full: a terminal flooded with input has no use for its end either */
        }
        if (ch->kind == CAY_BOX_ACCEPT && f->fd >= 0)
                shutdown(f->fd, SHUT_WR); /* the pump has the same socket */
        feed_break(f);
}

void cay_feed_go(struct cay_channel *ch)
{
        struct cay_feed *f = &ch->feed;
        bool full = false;

        while (f->fd >= 0 && f->waiting.len > 0 && !full) {
                ssize_t n = write(f->fd, cay_buf_data(&f->waiting),
                                  f->waiting.len < PIECE ? f->waiting.len : PIECE);

                if (n > 0)
                        cay_buf_drop(&f->waiting, (size_t)n);
                else if (n < 0 && errno == EAGAIN)
                        full = true;
                else if (n == 0 || errno != EINTR)
                        feed_break(f);
        }
        if (f->fd < 0)
                cay_buf_clear(&f->waiting);
        if (f->waiting.len == 0 && f->waiting.cap > CAY_SENDER_LEAST) { /* memory only while it is needed */
                size_t max = f->waiting.max;

                cay_buf_done(&f->waiting);
                cay_buf_init(&f->waiting, max);
        }
        if (cay_receiver_consumed(&f->receiver, f->receiver.got - f->waiting.len))
                ch->ack_due = true;
        if (f->fd < 0)
                return;
        if (f->receiver.eof && f->waiting.len == 0) {
                feed_end(ch);
                return;
        }
        if (!full)
                cay_watch_remove(&f->watch);
        else if (!f->watch.loop && cay_watch_add(ch->init->loop, &f->watch, f->fd, EPOLLOUT, on_writable) < 0)
                feed_break(f);
}
