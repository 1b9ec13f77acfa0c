/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-net/conn_priv.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cay-net/member.h"
#include "foundation/base/clock.h"
#include "foundation/base/str.h"
#include "foundation/sys/net_divert.h"

static void begin_queued(struct net_conn *c);

struct net_conn *net_conn_next(const struct net_conn *c)
{
        return c->next;
}

/* The box's list */

static void link_last(struct net_conn *c)
{
        struct net_box *b = c->box;

        c->prev = b->conns_last;
        c->next = NULL;
        if (b->conns_last)
                b->conns_last->next = c;
        else
                b->conns = c;
        b->conns_last = c;
}

static void unlink_conn(struct net_conn *c)
{
        struct net_box *b = c->box;

        if (c->prev)
                c->prev->next = c->next;
        else
                b->conns = c->next;
        if (c->next)
                c->next->prev = c->prev;
        else
                b->conns_last = c->prev;
}

void net_conn_to_last(struct net_conn *c)
{
        unlink_conn(c);
        link_last(c);
}

/* Log */

void net_conn_log(struct net_conn *c, unsigned verdict, const char *why)
{
        struct net_log_entry e = { .kind = c->is_name_checked || c->step == NET_STEP_HELLO ? NET_LOG_TLS
                                                                                           : NET_LOG_TCP,
                                   .verdict = verdict,
                                   .connection = c->number,
                                   .port = c->port,
                                   .up_bytes = c->up.pump.bytes,
                                   .down_bytes = c->down.pump.bytes,
                                   .duration_ms = cay_clock_ms() - c->began_ms };

        if (!cay_names_is_one(&c->address)) /* else only the sandbox knows it */
                memcpy(e.address, c->address.bytes, sizeof(e.address));
        snprintf(e.name, sizeof(e.name), "%s", c->name ? c->name : "");
        snprintf(e.rule, sizeof(e.rule), "%s", c->rule ? c->rule : "");
        snprintf(e.why, sizeof(e.why), "%s", why);
        net_box_log(c->box, &e);
}

/* Ending */

static void free_later(struct cay_deferred *d)
{
        struct net_conn *c = cay_container_of(d, struct net_conn, gone);

        free(c->name);
        free(c->rule);
        free(c->reach);
        net_proxy_free(c->proxy);
        free(c);
}

void net_conn_set_reset(int fd, bool resets)
{
        const struct linger l = { .l_onoff = resets };

        setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
}

void net_conn_set_up_listener(int fd)
{
        const int one = 1;

        net_conn_set_reset(fd, true);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static void close_side(struct cay_watch *w, int *fd, bool resets)
{
        if (*fd < 0) {
                cay_watch_remove(w);
                return;
        }
        net_conn_set_reset(*fd, resets);
        if (w->loop) /* nobody else has the socket: what others have was taken out before */
                cay_watch_close(w);
        else
                close(*fd);
        *fd = -1;
}

void net_conn_close_server(struct net_conn *c, bool resets)
{
        struct net_dial *d = c->dial;

        if (!d) {
                close_side(&c->server, &c->up.pump.to, resets);
                return;
        }
        cay_watch_remove(&c->server);
        c->up.pump.to = -1;
        c->dial = NULL;
        net_member_give_back(d, resets);
}

static void release_side(struct net_conn *c, struct net_side *s)
{
        c->box->waiting -= s->is_held;
        s->is_held = false;
        net_pump_done(&s->pump, &c->box->world->pipes);
}

void net_conn_done(struct net_conn *c, bool resets)
{
        unlink_conn(c);
        c->step = NET_STEP_ENDED;
        if (c->reach) {
                net_lookup_end(&c->reach->lookup);
                net_edge_wait_end(&c->reach->edge);
        }
        release_side(c, &c->up);
        release_side(c, &c->down);
        if (c->is_stream) /* the front may have it, too, for a moment */
                cay_watch_remove(&c->client);
        close_side(&c->client, &c->up.pump.from, resets);
        net_conn_close_server(c, resets);
        cay_timer_clear(&c->deadline);
        c->box->conn_count--;
        c->box->world->connections--;
        c->gone.run = free_later;
        cay_loop_defer(c->box->world->loop, &c->gone);
}

void net_conn_end(struct net_conn *c, unsigned verdict, const char *why)
{
        char text[NET_WHY]; /* it may lie in what ends here */

        snprintf(text, sizeof(text), "%s", why);
        c->box->stats.refused += verdict == NET_LOG_REFUSED;
        net_conn_log(c, c->step == NET_STEP_RELAYING ? NET_LOG_ENDED : verdict, text);
        if (c->proxy &&
            (!c->proxy->is_told || c->proxy->is_over)) { /* whoever asked in words is told in words */
                net_proxy_refuse(c->proxy, c->up.pump.from, verdict == NET_LOG_REFUSED, text);
                shutdown(c->up.pump.from, SHUT_WR);
                net_conn_done(c, false);
                return;
        }
        net_conn_done(c, true);
}

void net_conn_on_deadline(struct cay_timer *t)
{
        struct net_conn *c = cay_container_of(t, struct net_conn, deadline);

        if (c->step == NET_STEP_QUEUED)
                begin_queued(c);
        else if (c->step == NET_STEP_ASKED)
                net_conn_end(c, NET_LOG_REFUSED, "no request for the proxy came in time");
        else if (c->step == NET_STEP_HELLO)
                net_conn_end(c, NET_LOG_REFUSED, "no TLS server name came in time");
        else if (c->step == NET_STEP_RESOLVING)
                net_conn_end(c, NET_LOG_FAILED, "the name could not be looked up in time");
        else if (c->step == NET_STEP_HANDING_OVER)
                net_conn_end(c, NET_LOG_FAILED, "cay-edge takes no more connections now");
        else if (c->reach->next < c->reach->lookup.count) {
                snprintf(c->reach->why, sizeof(c->reach->why), "no answer in time");
                c->reach->verdict = NET_LOG_FAILED;
                net_conn_try_next(c);
        } else
                net_conn_end(c, NET_LOG_FAILED, "no answer in time");
}

/* Beginning */

/* False: it has been ended. */
static bool check_limits(struct net_conn *c)
{
        char why[NET_WHY];

        if (c->box->is_over_quota) {
                net_conn_end(c, NET_LOG_REFUSED, "quota");
        } else if (c->box->conn_count > c->box->limits.connections) {
                snprintf(why, sizeof(why), "limit: more than %u connections at once",
                         c->box->limits.connections);
                net_conn_end(c, NET_LOG_REFUSED, why);
        } else if (!net_box_is_fair(c->box)) {
                net_conn_end(
                        c, NET_LOG_REFUSED,
                        "limit: the connections of all sandboxes are shared, and it has its part of them");
        } else {
                return true;
        }
        return false;
}

void net_conn_begin(struct net_conn *c)
{
        char why[NET_WHY];

        if (!c->name && cay_address_is_loopback(&c->address)) { /* never diverted */
                net_conn_end(c, NET_LOG_REFUSED, "loopback is the sandbox's own: nothing listens there");
        } else if (!c->name && cay_names_is_one(&c->address)) {
                net_conn_end(c, NET_LOG_REFUSED,
                             "the address stands for no name any more: look the name up again");
        } else if (c->name && net_member_is_name(c->box, c->name)) {
                net_conn_enter_member(c);
        } else if (c->name && !cay_policy_pair_knows(&c->box->policy, c->name)) {
                snprintf(why, sizeof(why), "%.80s is not in the sandbox's list of allowed hosts", c->name);
                net_conn_end(c, NET_LOG_REFUSED, why);
        } else if (net_conn_needs_hello(c)) {
                net_conn_hear_hello(c);
        } else {
                net_conn_reach(c);
        }
}

/* By loopback nothing is diverted: it came straight to the listening socket, and will say what it wants. */
static bool is_for_proxy(const struct net_conn *c)
{
        return !c->name && c->port == SYS_DIVERT_PORT && cay_address_is_loopback(&c->address);
}

static void read_target(struct net_conn *c)
{
        struct sockaddr_storage own = { 0 };
        socklen_t len = sizeof(own);
        const char *name = NULL;

        if (getsockname(c->up.pump.from, (struct sockaddr *)&own, &len) == 0 &&
            cay_address_from_socket(&own, &c->address, &c->port))
                name = cay_names_find(c->box->names, &c->address);
        c->name = name ? strdup(name) : NULL;
}

static struct net_conn *new_conn_take(struct net_box *b, int fd)
{
        struct net_conn *c = calloc(1, sizeof(*c));
        struct net_reach *reach = calloc(1, sizeof(*reach));

        if (!c || !reach) {
                free(c);
                free(reach);
                close(fd);
                return NULL;
        }
        *c = (struct net_conn){ .box = b, .reach = reach, .number = ++b->world->last_connection };
        c->up.pump = (struct net_pump){ .from = fd, .to = -1, .pipe = { -1, -1 } };
        c->down.pump = c->up.pump;
        c->began_ms = cay_clock_ms();
        reach->conn = c;
        link_last(c);
        b->conn_count++;
        b->world->connections++;
        b->stats.connections_all++;
        return c;
}

void net_conn_begin_take(struct net_box *b, int fd)
{
        struct net_conn *c = new_conn_take(b, fd);

        if (!c)
                return;
        read_target(c);
        if (!check_limits(c))
                return;
        if (is_for_proxy(c))
                net_conn_hear_request(c);
        else
                net_conn_begin(c);
}

static void begin_queued(struct net_conn *c)
{
        struct net_bucket *rate = &c->box->connects;

        if (net_bucket_look(rate, cay_clock_ns()) == 0) {
                c->step = NET_STEP_QUEUED;
                cay_timer_set(c->box->world->loop, &c->deadline, NET_QUEUE_MS, net_conn_on_deadline);
                return;
        }
        net_bucket_take(rate, 1);
        net_conn_hear_request(c);
}

void net_conn_begin_proxied_take(struct net_box *b, int fd)
{
        struct net_conn *c = new_conn_take(b, fd);

        if (!c)
                return;
        c->is_stream = true;
        if (check_limits(c))
                begin_queued(c);
}

/* Changes */

void net_conn_judge_again(struct net_conn *c)
{
        char why[NET_WHY], text[NET_WHY];
        bool is_allowed = true;
        struct net_box *target;

        if (c->dial) {
                is_allowed = net_conn_why_not_member(c, &target) == NULL && target == c->dial->box;
                snprintf(why, sizeof(why), "it may not reach the other sandbox any more");
        } else if (c->name && !cay_policy_pair_knows(&c->box->policy, c->name)) {
                snprintf(why, sizeof(why), "%.80s is not in the sandbox's list of allowed hosts", c->name);
                is_allowed = false;
        } else if (c->step >= NET_STEP_RESOLVING && net_conn_needs_hello(c) && !c->is_name_checked) {
                snprintf(why, sizeof(why), "its TLS server name was not compared");
                is_allowed = false;
        } else if (c->step >= NET_STEP_CONNECTING) {
                is_allowed = net_conn_judge(c, why);
        }
        if (is_allowed)
                return;
        snprintf(text, sizeof(text), "the policy changed: %.160s", why);
        net_conn_end(c, NET_LOG_REFUSED, text);
}

void net_conn_secrets_changed(struct net_conn *c)
{
        if (c->has_secrets)
                net_conn_end(c, NET_LOG_REFUSED, "the sandbox's secrets changed");
}
