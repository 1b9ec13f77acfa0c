/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a connection gets to what it wants: its addresses, judged and tried by turns; a member of the same
 * private network; cay-edge.
 */
#include "cay-net/conn_priv.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cay-net/member.h"

/* Connections with secrets */

static void on_handed_over(struct net_edge_wait *w, int r, const char *why)
{
        struct net_conn *c = cay_container_of(w, struct net_reach, edge)->conn;

        if (r < 0)
                net_conn_end(c, NET_LOG_FAILED, why);
        else
                net_conn_relay(c);
}

static void hand_over(struct net_conn *c)
{
        struct net_edge_wait *w = &c->reach->edge;
        char why[NET_WHY];
        int r;

        cay_watch_remove(&c->server);
        cay_timer_set(c->box->world->loop, &c->deadline, NET_REACH_MS, net_conn_on_deadline);
        c->step = NET_STEP_HANDING_OVER;
        c->has_secrets = true;
        *w = (struct net_edge_wait){ .box = c->box,
                                     .name = c->name,
                                     .number = c->number,
                                     .fd = &c->up.pump.to,
                                     .on_done = on_handed_over };
        r = net_edge_hand_over(w, why);
        if (r < 0)
                net_conn_end(c, NET_LOG_FAILED, why);
        else if (r == 0)
                net_conn_relay(c);
}

/* Connecting */

static void on_reached(struct net_conn *c)
{
        if (c->is_name_checked && net_edge_has(c->box, c->name, c->port))
                hand_over(c);
        else
                net_conn_relay(c);
}

static void on_connected(struct cay_watch *w, uint32_t events)
{
        struct net_conn *c = cay_container_of(w, struct net_conn, server);
        int error = 0;
        socklen_t len = sizeof(error);

        if (getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
                error = errno;
        if (error == 0) {
                on_reached(c);
                return;
        }
        snprintf(c->reach->why, sizeof(c->reach->why), "%s", strerror(error));
        c->reach->verdict = NET_LOG_FAILED;
        net_conn_try_next(c);
}

/*
 * Where the program has sent something already, the acknowledgement that ends the handshake waits for it and
 * goes in the same packet: one packet less, and the server is woken once. Where the server speaks first, it
 * must not wait.
 */
static void join_first_bytes(const struct net_conn *c, int fd)
{
        const int zero = 0;
        int waiting = 0;

        if (ioctl(c->up.pump.from, FIONREAD, &waiting) == 0 && waiting > 0)
                setsockopt(fd, IPPROTO_TCP, TCP_QUICKACK, &zero, sizeof(zero));
}

/* 0: it goes on; -1: it is connected already, as to servers nearby; or a positive errno. */
static int start_connect(struct net_conn *c)
{
        struct sockaddr_storage to;
        socklen_t len = cay_address_to_socket(&c->address, c->port, &to);
        int fd = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), r = 0;

        if (fd < 0)
                return errno;
        join_first_bytes(c, fd);
        if (connect(fd, (struct sockaddr *)&to, len) < 0)
                r = errno;
        if (r == EINPROGRESS) /* the answer may have come while the call returned: that spares a round */
                r = connect(fd, (struct sockaddr *)&to, len) < 0 ? errno : 0;
        if (r == 0) {
                c->up.pump.to = fd;
                return -1;
        }
        if (r == EALREADY)
                r = -cay_watch_add(c->box->world->loop, &c->server, fd, EPOLLOUT, on_connected);
        if (r != 0)
                close(fd);
        else
                c->up.pump.to = fd;
        return r;
}

bool net_conn_judge(struct net_conn *c, char why[NET_WHY])
{
        const struct cay_policy_target t = { .name = c->name, .address = c->address, .port = c->port };
        struct cay_policy_verdict v;

        net_box_judge(c->box, &t, &v);
        free(c->rule);
        c->rule = v.rule ? strdup(v.rule->text) : NULL;
        if (!v.is_allowed)
                snprintf(why, NET_WHY, "%s", v.why);
        return v.is_allowed;
}

/* The next address that is allowed and can be tried at all. */
void net_conn_try_next(struct net_conn *c)
{
        struct net_reach *reach = c->reach;

        net_conn_close_server(c, true);
        c->step = NET_STEP_CONNECTING;
        while (reach->next < reach->lookup.count) {
                int r;

                c->address = reach->lookup.addresses[reach->next++];
                if (!net_conn_judge(c, reach->why)) {
                        reach->verdict = NET_LOG_REFUSED;
                        continue;
                }
                r = start_connect(c);
                if (r < 0) {
                        on_reached(c);
                        return;
                }
                if (r == 0) {
                        cay_timer_set(c->box->world->loop, &c->deadline,
                                      reach->next < reach->lookup.count ? NET_TRY_MS : NET_REACH_MS,
                                      net_conn_on_deadline);
                        return;
                }
                snprintf(reach->why, sizeof(reach->why), "%s", strerror(r));
                reach->verdict = NET_LOG_FAILED;
        }
        net_conn_end(c, reach->verdict, reach->why);
}

static void on_resolved(struct net_lookup *l)
{
        struct net_reach *reach = cay_container_of(l, struct net_reach, lookup);
        struct net_conn *c = reach->conn;

        if (l->count == 0) {
                net_conn_end(c, NET_LOG_FAILED, l->why);
                return;
        }
        net_conn_try_next(c);
}

void net_conn_reach(struct net_conn *c)
{
        cay_timer_set(c->box->world->loop, &c->deadline, NET_REACH_MS, net_conn_on_deadline);
        c->step = NET_STEP_RESOLVING;
        if (c->name) {
                c->reach->lookup.on_done = on_resolved;
                net_resolver_find(c->box->world->resolver, c->name, &c->reach->lookup);
                return;
        }
        c->reach->lookup.addresses[0] = c->address;
        c->reach->lookup.count = 1;
        net_conn_try_next(c);
}

/* Private networks */

const char *net_conn_why_not_member(struct net_conn *c, struct net_box **ret)
{
        const char *why = NULL;

        *ret = net_member_find(c->box, c->name, &why);
        if (!*ret)
                return why;
        return net_member_is_denied(c->box, *ret, c->port) ? "it is denied by a rule" : NULL;
}

void net_conn_enter_member(struct net_conn *c)
{
        struct net_box *target = NULL;
        const char *why = net_conn_why_not_member(c, &target);
        char rule[CAY_NAME_MAX + 24];
        int r = 0;

        memset(&c->address, 0, sizeof(c->address)); /* of no address that means anything outside */
        if (why) {
                net_conn_end(c, NET_LOG_REFUSED, why);
                return;
        }
        snprintf(rule, sizeof(rule), "private network %s", c->box->policy.member.network);
        c->rule = strdup(rule);
        c->step = NET_STEP_CONNECTING;
        c->dial = net_member_dial(target, c, c->port, &r);
        if (c->dial) {
                c->up.pump.to = c->dial->fd;
                r = -cay_watch_add(c->box->world->loop, &c->server, c->dial->fd, EPOLLOUT, on_connected);
        }
        if (!c->dial && r == 0)
                net_conn_end(c, NET_LOG_REFUSED,
                             "limit: the other sandbox has too many connections of others");
        else if (r != 0)
                net_conn_end(c, NET_LOG_FAILED, strerror(r));
        else
                cay_timer_set(c->box->world->loop, &c->deadline, NET_REACH_MS, net_conn_on_deadline);
}
