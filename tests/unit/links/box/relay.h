/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A wire between two ends that passes a given number of bytes each way and then breaks, wherever in a frame
 * that is.
 */
#pragma once

#include "unit/links/box/box_test.h"

#include <errno.h>
#include <fcntl.h>

#include "foundation/base/cleanup.h"
#include "foundation/loop/loop.h"

struct relay_end {
        struct cay_watch watch;
        struct relay *relay;
        uint64_t budget;       /* bytes that may still come from this end */
        uint8_t waiting[4096]; /* from this end, for the other */
        size_t at, len;
};

struct relay {
        struct relay_end ends[2];
        bool open;
};

static inline void relay_cut(struct relay *r)
{
        if (!r->open)
                return;
        r->open = false;
        for (int i = 0; i < 2; i++) {
                cay_watch_remove(&r->ends[i].watch);
                close(r->ends[i].watch.fd);
        }
}

static inline bool relay_push(struct relay_end *from, struct relay_end *to)
{
        while (from->len > 0) {
                ssize_t n =
                        send(to->watch.fd, from->waiting + from->at, from->len, MSG_NOSIGNAL | MSG_DONTWAIT);

                if (n < 0)
                        return errno == EAGAIN;
                from->at += (size_t)n;
                from->len -= (size_t)n;
        }
        return true;
}

static inline void relay_event(struct cay_watch *w, uint32_t events)
{
        struct relay_end *e = cay_container_of(w, struct relay_end, watch);
        struct relay *r = e->relay;
        struct relay_end *other = &r->ends[e == &r->ends[0]];
        bool fine = true;

        if (events & EPOLLOUT)
                fine = relay_push(other, e);
        if (fine && (events & (EPOLLIN | EPOLLHUP)) && e->len == 0) {
                size_t want = e->budget < sizeof(e->waiting) ? (size_t)e->budget : sizeof(e->waiting);
                ssize_t n = want > 0 ? read(w->fd, e->waiting, want) : 0;

                if (n > 0) {
                        e->at = 0;
                        e->len = (size_t)n;
                        e->budget -= (size_t)n;
                        fine = relay_push(e, other);
                } else if (n == 0 || errno != EAGAIN) {
                        fine = false;
                }
        }
        if (!fine) {
                relay_cut(r);
                return;
        }
        for (int i = 0; i < 2; i++)
                cay_watch_set(&r->ends[i].watch,
                              (r->ends[i].len == 0 ? EPOLLIN : 0) | (r->ends[!i].len > 0 ? EPOLLOUT : 0));
}

/* Gives two descriptors, joined until one of the budgets is used up. */
static inline void relay_start(struct relay *r, struct cay_loop *loop, uint64_t from_first,
                               uint64_t from_second, int ret_fds[2])
{
        *r = (struct relay){ .open = true };
        r->ends[0].budget = from_first;
        r->ends[1].budget = from_second;
        for (int i = 0; i < 2; i++) {
                int fds[2];

                test_socketpair(fds, 4096);
                r->ends[i].relay = r;
                assert_int_equal(fcntl(fds[0], F_SETFL, O_NONBLOCK), 0);
                assert_int_equal(cay_watch_add(loop, &r->ends[i].watch, fds[0], EPOLLIN, relay_event), 0);
                ret_fds[i] = fds[1];
        }
}
