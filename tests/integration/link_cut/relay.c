/* SPDX-License-Identifier: Apache-2.0 */
/* Two buffers between two descriptors; never blocks, so it can share a loop with the front it serves. */
#include "integration/link_cut/relay.h"

#include <errno.h>
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"

#define READ_TRIES 20000u /* of a millisecond each, at least */

void relay_break(struct relay *r)
{
        if (!r->is_open)
                return;
        for (unsigned i = 0; i < 2; i++) {
                cay_watch_remove(&r->watches[i]);
                close(r->fds[i]);
        }
        r->is_open = false;
}

bool relay_await_read(int fd)
{
        for (unsigned i = 0; i < READ_TRIES; i++) {
                int unread = -1;

                if (ioctl(fd, SIOCOUTQ, &unread) < 0 || unread == 0)
                        return unread == 0;
                usleep(1000);
        }
        return false;
}

/* Moves what can be moved one way; false: the wire has broken. */
static bool move(struct relay *r, enum relay_way way)
{
        int from = r->fds[way], to = r->fds[!way];

        for (;;) {
                size_t want = sizeof(r->ways[way].bytes);
                ssize_t n;

                if (r->ways[way].len > 0) {
                        n = send(to, r->ways[way].bytes + r->ways[way].at, r->ways[way].len,
                                 MSG_DONTWAIT | MSG_NOSIGNAL);
                        if (n < 0)
                                return errno == EAGAIN;
                        r->ways[way].at += (size_t)n;
                        r->ways[way].len -= (size_t)n;
                        if (r->ways[way].len > 0 || r->ways[way].left > 0)
                                continue;
                        if (r->ways[way].is_read_first)
                                relay_await_read(to); /* ignoring: then the test finds what is missing */
                        return false;
                }
                if (r->ways[way].left < want)
                        want = r->ways[way].left > 0 ? (size_t)r->ways[way].left : 1;
                n = recv(from, r->ways[way].bytes, want, MSG_DONTWAIT);
                if (n < 0)
                        return errno == EAGAIN;
                if (n == 0 || r->ways[way].left == 0) /* end of the stream, or a byte that may not pass */
                        return false;
                r->ways[way].at = 0;
                r->ways[way].len = (size_t)n;
                if (r->ways[way].left != RELAY_ENDLESS)
                        r->ways[way].left -= (uint64_t)n;
        }
}

static void serve(struct relay *r)
{
        if (!move(r, RELAY_TO_INIT) || !move(r, RELAY_TO_FRONT)) {
                relay_break(r);
                return;
        }
        for (unsigned i = 0; i < 2; i++)
                cay_watch_set(&r->watches[i], (r->ways[i].len > 0 ? 0 : (uint32_t)EPOLLIN) |
                                                      (r->ways[!i].len > 0 ? (uint32_t)EPOLLOUT : 0));
}

static void on_front(struct cay_watch *w, uint32_t events)
{
        serve(cay_container_of(w, struct relay, watches[RELAY_TO_INIT]));
}

static void on_init(struct cay_watch *w, uint32_t events)
{
        serve(cay_container_of(w, struct relay, watches[RELAY_TO_FRONT]));
}

int relay_open_take(struct relay *r, struct cay_loop *loop, int fd, uint64_t to_init, uint64_t to_front)
{
        int pair[2];

        relay_break(r);
        if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0) {
                close(fd);
                return -errno;
        }
        for (unsigned i = 0; i < 2; i++) {
                r->watches[i] = (struct cay_watch){ 0 };
                r->ways[i].at = r->ways[i].len = 0;
                r->ways[i].is_read_first = false;
        }
        r->ways[RELAY_TO_INIT].left = to_init;
        r->ways[RELAY_TO_FRONT].left = to_front;
        r->fds[RELAY_TO_INIT] = pair[0];
        r->fds[RELAY_TO_FRONT] = fd;
        r->is_open = true;
        if (cay_watch_add(loop, &r->watches[RELAY_TO_INIT], pair[0], EPOLLIN, on_front) < 0 ||
            cay_watch_add(loop, &r->watches[RELAY_TO_FRONT], fd, EPOLLIN, on_init) < 0) {
                relay_break(r);
                close(pair[1]);
                return -ENOMEM;
        }
        return pair[1];
}

void relay_limit(struct relay *r, enum relay_way way, uint64_t left)
{
        r->ways[way].left = left;
        r->ways[way].is_read_first = true;
}
