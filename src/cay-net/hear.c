/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a program says before its connection goes on: the request to the proxy, the TLS hello with its server
 * name.
 */
#include "cay-net/conn_priv.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "domain/network/tls_hello.h"

#define TLS_PORT 443

/* A stream knows no least number of bytes (SO_RCVLOWAT): it is reported when more has come. */
static uint32_t hearing(const struct net_conn *c)
{
        return EPOLLIN | EPOLLRDHUP | (c->is_stream ? EPOLLET : 0u);
}

/* The TLS hello */

static void refuse_hello(struct net_conn *c, enum cay_tls_hello got, const char *name)
{
        char why[NET_WHY];

        if (got == CAY_TLS_HELLO_NAMED)
                snprintf(why, sizeof(why), "the TLS server name is %.80s, not %.80s", name, c->name);
        else
                snprintf(why, sizeof(why), "%s: on port %u the TLS server name must be %.80s",
                         got == CAY_TLS_HELLO_NOT_TLS   ? "not TLS"
                         : got == CAY_TLS_HELLO_UNNAMED ? "no TLS server name"
                         : got == CAY_TLS_HELLO_MORE    ? "closed before its TLS hello"
                                                        : "malformed TLS hello",
                         c->port, c->name);
        net_conn_end(c, NET_LOG_REFUSED, why);
}

static void on_hello(struct cay_watch *w, uint32_t events)
{
        struct net_conn *c = cay_container_of(w, struct net_conn, client);
        static uint8_t bytes[CAY_TLS_HELLO_MAX];
        char name[CAY_POLICY_NAME_MAX + 1] = "";
        ssize_t n = recv(w->fd, bytes, sizeof(bytes), MSG_PEEK | MSG_DONTWAIT);
        enum cay_tls_hello got;
        int enough;

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        got = n <= 0 ? CAY_TLS_HELLO_MORE : cay_tls_hello_read(bytes, (size_t)n, name);
        if (got == CAY_TLS_HELLO_MORE && n > 0 && !(events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR))) {
                enough = (int)n + 1;
                setsockopt(w->fd, SOL_SOCKET, SO_RCVLOWAT, &enough, sizeof(enough));
                return;
        }
        if (got != CAY_TLS_HELLO_NAMED || strcmp(name, c->name) != 0) {
                refuse_hello(c, got, name);
                return;
        }
        c->is_name_checked = true;
        cay_watch_remove(w); /* its bytes wait until there is somebody to send them to */
        net_conn_reach(c);
}

bool net_conn_needs_hello(const struct net_conn *c)
{
        const struct cay_policy_target t = { .name = c->name, .port = c->port };

        return c->port == TLS_PORT &&
               (cay_policy_pair_checks_names(&c->box->policy, &t) || net_edge_has(c->box, c->name, c->port));
}

void net_conn_hear_hello(struct net_conn *c)
{
        c->step = NET_STEP_HELLO;
        if (c->proxy && net_proxy_agree(c->proxy, c->up.pump.from) < 0) { /* the hello comes after that */
                net_conn_end(c, NET_LOG_FAILED, "closed before it was answered");
                return;
        }
        cay_timer_set(c->box->world->loop, &c->deadline, NET_HELLO_MS, net_conn_on_deadline);
        if (cay_watch_add(c->box->world->loop, &c->client, c->up.pump.from, hearing(c), on_hello) < 0)
                net_conn_end(c, NET_LOG_FAILED, "no memory");
}

/* The proxy */

static void on_request(struct cay_watch *w, uint32_t events)
{
        struct net_conn *c = cay_container_of(w, struct net_conn, client);
        struct cay_proxy_request req;
        const char *why = NULL, *name;
        enum net_proxy_heard got =
                net_proxy_hear(c->proxy, w->fd, events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR), &req, &why);

        if (got == NET_PROXY_WAITS)
                return;
        cay_watch_remove(w);
        cay_timer_clear(&c->deadline);
        if (got == NET_PROXY_BAD) {
                net_conn_end(c, NET_LOG_REFUSED, why);
                return;
        }
        c->address = req.address;
        c->port = req.port;
        name = req.name[0] != '\0' ? req.name : cay_names_find(c->box->names, &c->address);
        c->name = name ? strdup(name) : NULL;
        c->step = NET_STEP_BEGINNING;
        net_conn_begin(c);
}

void net_conn_hear_request(struct net_conn *c)
{
        c->step = NET_STEP_ASKED;
        memset(&c->address, 0, sizeof(c->address)); /* the listener's is of no interest */
        c->port = 0;
        c->proxy = calloc(1, sizeof(*c->proxy));
        cay_timer_set(c->box->world->loop, &c->deadline, NET_HELLO_MS, net_conn_on_deadline);
        if (!c->proxy ||
            cay_watch_add(c->box->world->loop, &c->client, c->up.pump.from, hearing(c), on_request) < 0)
                net_conn_end(c, NET_LOG_FAILED, "no memory");
}
