/* SPDX-License-Identifier: Apache-2.0 */
/* Front and keeper: one message after the other. */
#include "links/helper_server/helper_server.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foundation/base/log.h"
#include "foundation/sys/unix_socket.h"
#include "links/helper/keeper_message.h"

#define ANSWER_WAIT_MS 5000

/* Saying */

/*
 * A front never blocks in a send, so it keeps reading, and waiting here is safe even with many answers. A
 * front that does not read for this long is disconnected.
 */
static int send_answer(int fd, const void *answer, size_t size)
{
        struct pollfd p = { .fd = fd, .events = POLLOUT };
        ssize_t n = sys_send_fds(fd, answer, size, NULL, 0, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n == -EAGAIN && poll(&p, 1, ANSWER_WAIT_MS) > 0)
                n = sys_send_fds(fd, answer, size, NULL, 0, MSG_NOSIGNAL | MSG_DONTWAIT);
        return n < 0 ? (int)n : 0;
}

void helper_server_say(struct helper_server *e, void *answer)
{
        helper_answer_seal(e->kind->protocol, answer);
        if (e->front.loop && send_answer(e->front.fd, answer, e->kind->protocol->answer_size) < 0)
                shutdown(e->front.fd, SHUT_RDWR); /* the loop then sees end of file */
}

int helper_server_offer(struct helper_server *e, void *answer)
{
        ssize_t n;

        if (!e->front.loop)
                return -ENOTCONN;
        helper_answer_seal(e->kind->protocol, answer);
        n = sys_send_fds(e->front.fd, answer, e->kind->protocol->answer_size, NULL, 0,
                         MSG_NOSIGNAL | MSG_DONTWAIT);
        return n < 0 ? (int)n : 0;
}

/* Hearing the front */

static int serve_take(struct helper_server *e, const int *fds, unsigned count)
{
        if (e->kind->serve_all_take)
                return e->kind->serve_all_take(e, e->request, fds, count);
        return e->kind->serve_take(e, e->request, count == 1 ? fds[0] : -1);
}

void helper_server_let_front_go(struct helper_server *e)
{
        int fd = e->front.fd;

        if (!e->front.loop)
                return;
        cay_watch_remove(&e->front);
        close(fd);
        e->serial++;
        if (e->kind->on_front_end)
                e->kind->on_front_end(e);
}

static void on_front(struct cay_watch *w, uint32_t events)
{
        struct helper_server *e = cay_container_of(w, struct helper_server, front);
        const struct helper_protocol *p = e->kind->protocol;
        const struct helper_request_head *head = e->request;
        int fds[SYS_FDS_MAX], r;
        unsigned count = 0;
        ssize_t n = sys_recv_fds(w->fd, e->request, p->request_size, fds, &count, MSG_DONTWAIT);

        if (n == -EAGAIN || n == -EINTR)
                return;
        r = n <= 0 ? -EPIPE : helper_request_check(p, e->request, n, count, e->state);
        if (r == 0)
                r = serve_take(e, fds, count);
        else
                sys_close_fds(fds, n >= 0 ? count : 0);
        if (r < 0 && n > 0)
                cay_log_error("the front said what it may not: hung up", "type=%s state=%u",
                              n == (ssize_t)p->request_size ? helper_request_name(p, head->type) : "?",
                              e->state);
        explicit_bzero(e->request, p->request_size); /* it may have contained a secret */
        if (r < 0)
                helper_server_let_front_go(e);
}

int helper_server_open_front(struct helper_server *e, int fd)
{
        helper_server_let_front_go(e);
        e->state = HELPER_FRESH;
        return cay_watch_add(e->loop, &e->front, fd, EPOLLIN, on_front);
}

/* Hearing the keeper */

static void on_keeper(struct cay_watch *w, uint32_t events)
{
        struct helper_server *e = cay_container_of(w, struct helper_server, keeper);
        struct wire_keeper told = { 0 };
        int fds[SYS_FDS_MAX];
        unsigned count = 0;
        ssize_t n = sys_recv_fds(w->fd, &told, sizeof(told), fds, &count, MSG_DONTWAIT);

        if (n == -EAGAIN || n == -EINTR)
                return;
        if (n == (ssize_t)sizeof(told) && told.magic == WIRE_KEEPER_MAGIC && told.type == WIRE_KEEPER_FRONT &&
            count == 1) {
                e->is_upgrade = false; /* the upgrade failed: the same keeper continues */
                if (helper_server_open_front(e, fds[0]) < 0)
                        close(fds[0]);
                return;
        }
        sys_close_fds(fds, n >= 0 ? count : 0);
        if (n == (ssize_t)sizeof(told) && told.magic == WIRE_KEEPER_MAGIC && told.type == WIRE_KEEPER_UPGRADE)
                e->is_upgrade = true;
        if (n > 0)
                return;
        cay_watch_remove(w);
        if (e->kind->on_keeper_end && !e->is_upgrade)
                e->kind->on_keeper_end(e);
        else
                cay_loop_stop(e->loop);
}

int helper_server_open_keeper(struct helper_server *e, int fd)
{
        return cay_watch_add(e->loop, &e->keeper, fd, EPOLLIN, on_keeper);
}

void helper_server_close(struct helper_server *e)
{
        helper_server_let_front_go(e);
        cay_watch_remove(&e->keeper);
}
