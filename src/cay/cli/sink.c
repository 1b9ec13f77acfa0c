/* SPDX-License-Identifier: Apache-2.0 */
/* Non-blocking writes to descriptors that we share (sink.h). */
#include "cay/cli/sink.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define PIECE 4096 /* what a writable pipe takes without blocking */

enum { PLAIN, SOCKET, OWN, SHARED }; /* a file; a socket; reopened; polled before each piece */

static bool is_pty_master(const struct stat *st)
{
        return S_ISCHR(st->st_mode) && major(st->st_rdev) == 5 && minor(st->st_rdev) == 2;
}

void cay_sink_open(struct cay_loop *loop, struct cay_sink *s, int fd)
{
        char path[32];
        struct stat st;

        *s = (struct cay_sink){ .fd = fd, .given = fd, .loop = loop, .watch = { .fd = -1 } };
        if (fstat(fd, &st) < 0)
                return;
        if (S_ISSOCK(st.st_mode)) {
                s->kind = SOCKET;
                return;
        }
        if (!S_ISFIFO(st.st_mode) && !(S_ISCHR(st.st_mode) && isatty(fd)))
                return;
        s->kind = SHARED;
        if (is_pty_master(&st))
                return; /* reopening would make another pair */
        snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
        fd = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
        if (fd >= 0) {
                s->fd = fd;
                s->kind = OWN;
        }
}

/* One write; its length or -errno. */
static ssize_t put(struct cay_sink *s, const void *bytes, size_t len)
{
        struct pollfd p = { .fd = s->fd, .events = POLLOUT };
        ssize_t n;

        if (s->kind == SHARED) {
                if (poll(&p, 1, 0) == 0)
                        return -EAGAIN;
                if (len > PIECE)
                        len = PIECE;
        }
        do {
                n = s->kind == SOCKET ? send(s->fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL)
                                      : write(s->fd, bytes, len);
        } while (n < 0 && errno == EINTR);
        return n < 0 ? -errno : n;
}

void cay_sink_show(struct cay_sink *s)
{
        s->is_shown = isatty(s->given);
}

void cay_sink_close(struct cay_sink *s)
{
        if (s->is_shown && s->tail.len > 0 && s->failed == 0)
                put(s, s->shown,
                    cay_safe_end(&s->tail, s->shown)); /* a few bytes; a full terminal goes without */
        cay_watch_remove(&s->watch);
        if (s->kind == OWN && s->fd != s->given)
                close(s->fd);
        s->fd = s->given;
        s->kind = PLAIN;
}

static void on_writable(struct cay_watch *w, uint32_t events)
{
        struct cay_sink *s = cay_container_of(w, struct cay_sink, watch);

        cay_watch_remove(w);
        s->on_room(s);
}

static size_t write_plain(struct cay_sink *s, const void *bytes, size_t len)
{
        size_t done = 0;
        int r;

        while (done < len && s->failed == 0) {
                ssize_t n = put(s, (const char *)bytes + done, len - done);

                if (n > 0) {
                        done += (size_t)n;
                        continue;
                }
                if (n == -EAGAIN) {
                        r = s->watch.loop == NULL
                                    ? cay_watch_add(s->loop, &s->watch, s->fd, EPOLLOUT, on_writable)
                                    : 0;
                        if (r == 0)
                                return done;
                        n = r;
                }
                s->failed = n < 0 ? (int)n : -EIO;
                if (s->on_failed != NULL)
                        s->on_failed(s);
        }
        return len;
}

/* A piece counts as taken when its escaped form is written: until then the caller passes it again. */
static size_t write_shown(struct cay_sink *s, const char *bytes, size_t len)
{
        size_t done = 0;

        for (;;) {
                s->shown_at += write_plain(s, s->shown + s->shown_at, s->shown_len - s->shown_at);
                if (s->shown_at < s->shown_len)
                        return done;
                done += s->shown_of;
                s->shown_at = s->shown_len = s->shown_of = 0;
                if (done >= len || s->failed != 0)
                        return len;
                s->shown_of = len - done < CAY_SAFE_PIECE ? len - done : CAY_SAFE_PIECE;
                s->shown_len = cay_safe_next(&s->tail, bytes + done, s->shown_of, s->shown);
        }
}

size_t cay_sink_write(struct cay_sink *s, const void *bytes, size_t len)
{
        return s->is_shown ? write_shown(s, bytes, len) : write_plain(s, bytes, len);
}
