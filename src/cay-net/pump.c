/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-net/pump.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#define PIPE_BYTES (256 * 1024) /* as far as the kernel lets an ordinary user */
#define COPY_BYTES (64 * 1024)
#define FEW_BYTES 4096 /* every empty pipe takes as many at once, however small the kernel has made it */

/* Pipes */

static bool take_pipe(struct net_pipes *p, int ret[2])
{
        if (p->out >= p->most)
                return false;
        if (p->count > 0) {
                p->count--;
                ret[0] = p->spare[p->count][0];
                ret[1] = p->spare[p->count][1];
        } else if (pipe2(ret, O_NONBLOCK | O_CLOEXEC) < 0) {
                ret[0] = ret[1] = -1;
                return false;
        } else {
                fcntl(ret[1], F_SETPIPE_SZ, PIPE_BYTES); /* else it has its usual size */
        }
        p->out++;
        return true;
}

static void give_pipe(struct net_pipes *p, int fds[2], bool is_empty)
{
        if (fds[0] < 0)
                return;
        p->out--;
        if (is_empty && p->count < NET_PIPES_SPARE) {
                p->spare[p->count][0] = fds[0];
                p->spare[p->count][1] = fds[1];
                p->count++;
        } else {
                close(fds[0]);
                close(fds[1]);
        }
        fds[0] = fds[1] = -1;
}

void net_pipes_done(struct net_pipes *p)
{
        for (; p->count > 0; p->count--) {
                close(p->spare[p->count - 1][0]);
                close(p->spare[p->count - 1][1]);
        }
}

/* Bytes */

static int empty_pipe(struct net_pump *p)
{
        const unsigned flags = SPLICE_F_NONBLOCK | SPLICE_F_MOVE | (p->is_ending ? SPLICE_F_MORE : 0u);

        while (p->held > 0) {
                ssize_t n = splice(p->pipe[0], NULL, p->to, NULL, p->held, flags);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                if (n == 0)
                        return -EPIPE;
                p->held -= (size_t)n;
                p->bytes += (uint64_t)n;
        }
        return 0;
}

static ssize_t fill_pipe(struct net_pump *p, size_t most)
{
        ssize_t n;

        do
                n = splice(p->from, NULL, p->pipe[1], NULL, most < PIPE_BYTES ? most : PIPE_BYTES,
                           SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
        while (n < 0 && errno == EINTR);
        if (n > 0)
                p->held += (size_t)n;
        return n < 0 ? -errno : n;
}

/*
 * Without a pipe. Returns what was read and passed on, 0 at the end, -errno; *ret_full: the other side takes
 * no more now.
 */
static ssize_t copy(struct net_pump *p, size_t most, bool *ret_full)
{
        static char bytes[COPY_BYTES];
        ssize_t n = recv(p->from, bytes, most < sizeof(bytes) ? most : sizeof(bytes),
                         MSG_PEEK | MSG_DONTWAIT),
                sent;

        if (n <= 0)
                return n < 0 ? -errno : 0;
        sent = send(p->to, bytes, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
        *ret_full = sent < 0 && errno == EAGAIN;
        if (sent < 0)
                return -errno;
        p->bytes += (uint64_t)sent;
        return recv(p->from, bytes, (size_t)sent, MSG_DONTWAIT) == sent ? sent : -EIO;
}

/* How many there are, at most `most`; *ret_end: what the last receive said (0: the end of input; -errno). */
static size_t receive_few(int from, char *bytes, size_t most, int *ret_end)
{
        size_t len = 0;
        ssize_t n;

        *ret_end = 1;
        while (len<most && * ret_end> 0) {
                n = recv(from, bytes + len, most - len, MSG_DONTWAIT);
                if (n > 0)
                        len += (size_t)n;
                else if (n == 0 || errno != EINTR)
                        *ret_end = n < 0 ? -errno : 0;
        }
        return len;
}

/*
 * Few bytes are copied: that costs less than two splices, and whether the end of input follows them is known
 * before they go out, so that it goes with them. What the other side does not take goes into the pipe.
 * Returns as read_piece.
 */
static int pass_few(struct net_pump *p, size_t most, size_t *ret_read, int *ret_wait)
{
        static char bytes[FEW_BYTES];
        int end;
        size_t len = receive_few(p->from, bytes, most < FEW_BYTES ? most : FEW_BYTES, &end), sent = 0;
        ssize_t n = 0;

        p->is_read = end == 0;
        p->is_ending |= end == 0;
        p->is_much = len == FEW_BYTES;
        if (len > 0) {
                do
                        n = send(p->to, bytes, len,
                                 MSG_NOSIGNAL | MSG_DONTWAIT | (p->is_ending ? MSG_MORE : 0));
                while (n < 0 && errno == EINTR);
                if (n < 0 && errno != EAGAIN)
                        return -errno;
                sent = n > 0 ? (size_t)n : 0;
        }
        p->bytes += sent;
        *ret_read += len;
        if (sent < len && write(p->pipe[1], bytes + sent, len - sent) != (ssize_t)(len - sent))
                return -EIO;
        p->held = len - sent;
        if (end < 0 && end != -EAGAIN)
                return end;
        *ret_wait = NET_PUMP_IN;
        return end == -EAGAIN && p->held == 0;
}

static int finish(struct net_pump *p, struct net_pipes *pipes)
{
        give_pipe(pipes, p->pipe, true);
        if (!p->is_over)
                shutdown(p->to, SHUT_WR);
        p->is_over = true;
        return NET_PUMP_OVER;
}

/* One piece read; 0: go on, or what the step returns. */
static int read_piece(struct net_pump *p, struct net_pipes *pipes, size_t most, size_t *ret_read,
                      int *ret_wait)
{
        bool is_full = false;
        ssize_t n;
        int r;

        if (p->pipe[0] < 0 && !take_pipe(pipes, p->pipe)) {
                n = copy(p, most, &is_full);
        } else if (p->is_much) {
                n = fill_pipe(p, most);
        } else {
                r = pass_few(p, most, ret_read, ret_wait);
                if (r > 0)
                        give_pipe(pipes, p->pipe, true);
                return r;
        }
        if (n == -EAGAIN) {
                give_pipe(pipes, p->pipe, true);
                p->is_much = *ret_read >= FEW_BYTES;
                *ret_wait = is_full ? NET_PUMP_OUT : NET_PUMP_IN;
                return 1;
        }
        if (n < 0)
                return (int)n;
        p->is_read = n == 0;
        *ret_read += (size_t)n;
        return 0;
}

int net_pump_step(struct net_pump *p, struct net_pipes *pipes, size_t most, size_t *ret_read)
{
        int wait = NET_PUMP_MORE, r;

        *ret_read = 0;
        for (;;) {
                r = empty_pipe(p);
                if (r < 0)
                        return r == -EAGAIN ? NET_PUMP_OUT : r;
                if (p->is_read)
                        return finish(p, pipes);
                if (*ret_read >= most) {
                        give_pipe(pipes, p->pipe, true);
                        return NET_PUMP_MORE;
                }
                r = read_piece(p, pipes, most - *ret_read, ret_read, &wait);
                if (r != 0)
                        return r < 0 ? r : wait;
        }
}

void net_pump_done(struct net_pump *p, struct net_pipes *pipes)
{
        give_pipe(pipes, p->pipe, p->held == 0);
}
