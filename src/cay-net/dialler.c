/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-net/dialler.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foundation/base/str.h"
#include "foundation/sys/unix_socket.h"

struct net_call {
        struct net_dialler *all;
        struct net_call *next, **back;
        struct net_dial_request request;
        struct net_lookup lookup;
        unsigned next_address;
        struct cay_watch to, server;
        struct cay_timer total, patience;
        int to_fd, fd; /* owned; fd: -1 while no address is tried */
        enum cay_code code;
        char why[NET_WHY]; /* the last address was not it */
        struct cay_deferred gone;
};

/* Ends */

static void free_call(struct cay_deferred *d)
{
        free(cay_container_of(d, struct net_call, gone));
}

static void drop_server(struct net_call *c)
{
        cay_watch_remove(&c->server);
        cay_timer_clear(&c->patience);
        if (c->fd >= 0)
                close(cay_take_fd(c->fd));
}

static void end(struct net_call *c)
{
        net_lookup_end(&c->lookup);
        drop_server(c);
        cay_timer_clear(&c->total);
        cay_watch_remove(&c->to);
        close(c->to_fd);
        *c->back = c->next;
        if (c->next)
                c->next->back = c->back;
        c->all->count--;
        c->gone.run = free_call;
        cay_loop_defer(c->all->world->loop, &c->gone);
}

/* A front that does not take it has closed its end, or breaks the protocol: nobody else wants to know. */
static void tell(int to, enum cay_code code, const char *why, const int *fd)
{
        struct net_dialled out = { .magic = NET_DIALLED_MAGIC, .size = sizeof(out), .code = code };

        cay_str_copy(out.text, sizeof(out.text), why);
        sys_send_fds(to, &out, sizeof(out), fd, fd != NULL, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void fail(struct net_call *c)
{
        tell(c->to_fd, c->code, c->why, NULL);
        end(c);
}

static void on_time_up(struct cay_timer *t)
{
        struct net_call *c = cay_container_of(t, struct net_call, total);

        c->code = CAY_TIMEOUT;
        snprintf(c->why, sizeof(c->why), "%.100s: no answer in %u s", c->request.host, NET_CALL_MS / 1000);
        fail(c);
}

static void on_left(struct cay_watch *w, uint32_t events)
{
        (void)events;
        end(cay_container_of(w, struct net_call, to));
}

/* Judging */

const char *net_dialler_why_not(struct net_world *world, const char *host, bool may_private,
                                const struct cay_address *a, char text[NET_WHY])
{
        int local;

        if (may_private)
                return NULL;
        local = cay_address_why_not_public(a) ? 1 : net_world_is_own(world, a);
        if (local == 0)
                return NULL;
        snprintf(text, NET_WHY,
                 local > 0 ? "%.80s does not lead to a public address: only an administrator may add a "
                             "machine there"
                           : "%.80s: there is no route to it",
                 host);
        return text;
}

/* Connecting */

static void try_next(struct net_call *c);

static void on_reached(struct net_call *c)
{
        const int on = 1, ms = NET_CALL_UNANSWERED_MS;

        setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        setsockopt(c->fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
        setsockopt(c->fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &ms, sizeof(ms));
        tell(c->to_fd, CAY_OK, "", &c->fd);
        end(c);
}

static void note_failure(struct net_call *c, int error)
{
        c->code = CAY_UNAVAILABLE;
        snprintf(c->why, sizeof(c->why), "connect to %.80s: %s", c->request.host, strerror(error));
}

static void on_connected(struct cay_watch *w, uint32_t events)
{
        struct net_call *c = cay_container_of(w, struct net_call, server);
        socklen_t len = sizeof(int);
        int error = 0;

        (void)events;
        if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
                error = errno;
        if (error == 0) {
                on_reached(c);
                return;
        }
        note_failure(c, error);
        try_next(c);
}

static void on_silent(struct cay_timer *t)
{
        struct net_call *c = cay_container_of(t, struct net_call, patience);

        note_failure(c, ETIMEDOUT);
        try_next(c);
}

/* 0: under way; a positive errno. */
static int start_connect(struct net_call *c, const struct cay_address *a)
{
        struct sockaddr_storage to;
        socklen_t len = cay_address_to_socket(a, (uint16_t)c->request.port, &to);
        int r = 0;

        c->fd = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (c->fd < 0)
                return errno;
        if (connect(c->fd, (struct sockaddr *)&to, len) < 0 && errno != EINPROGRESS)
                r = errno;
        if (r == 0)
                r = -cay_watch_add(c->all->world->loop, &c->server, c->fd, EPOLLOUT, on_connected);
        return r;
}

static void try_next(struct net_call *c)
{
        char text[NET_WHY];

        drop_server(c);
        while (c->next_address < c->lookup.count) {
                const struct cay_address *a = &c->lookup.addresses[c->next_address++];
                const char *why =
                        net_dialler_why_not(c->all->world, c->request.host, c->request.may_private, a, text);
                int r;

                if (why) {
                        c->code = CAY_DENIED;
                        cay_str_copy(c->why, sizeof(c->why), why);
                        continue;
                }
                r = start_connect(c, a);
                if (r == 0) {
                        if (c->next_address < c->lookup.count)
                                cay_timer_set(c->all->world->loop, &c->patience, NET_CALL_TRY_MS, on_silent);
                        return;
                }
                drop_server(c);
                note_failure(c, r);
        }
        fail(c);
}

static void on_resolved(struct net_lookup *l)
{
        struct net_call *c = cay_container_of(l, struct net_call, lookup);

        if (l->count == 0) {
                c->code = CAY_UNAVAILABLE;
                snprintf(c->why, sizeof(c->why), "look up %.80s: %.80s", c->request.host, l->why);
                fail(c);
                return;
        }
        try_next(c);
}

static void find_addresses(struct net_call *c)
{
        if (cay_address_parse(c->request.host, &c->lookup.addresses[0])) {
                c->lookup.count = 1;
                try_next(c);
                return;
        }
        c->lookup.on_done = on_resolved;
        net_resolver_find(c->all->world->resolver, c->request.host, &c->lookup);
}

/* Beginning and end */

void net_dialler_begin_take(struct net_dialler *d, const struct net_dial_request *req, int to)
{
        struct net_call *c = d->count < NET_CALLS_MAX ? calloc(1, sizeof(*c)) : NULL;

        if (!c || cay_watch_add(d->world->loop, &c->to, to, EPOLLIN, on_left) < 0) {
                tell(to, CAY_LIMIT, "too many machines are being connected to", NULL);
                close(to);
                free(c);
                return;
        }
        c->all = d;
        c->request = *req;
        c->to_fd = to;
        c->fd = -1;
        c->next = d->calls;
        c->back = &d->calls;
        if (c->next)
                c->next->back = &c->next;
        d->calls = c;
        d->count++;
        cay_timer_set(d->world->loop, &c->total, NET_CALL_MS, on_time_up);
        find_addresses(c);
}

void net_dialler_done(struct net_dialler *d)
{
        while (d->calls)
                end(d->calls);
}
