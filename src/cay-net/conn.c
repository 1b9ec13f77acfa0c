/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-net/conn.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cay-net/edge.h"
#include "cay-net/member.h"
#include "cay-net/proxy.h"
#include "domain/network/tls_hello.h"
#include "foundation/base/clock.h"
#include "foundation/base/str.h"
#include "foundation/sys/net_divert.h"

#define TLS_PORT 443

enum step {
        BEGINNING,
        QUEUED,
        ASKED,
        HELLO,
        RESOLVING,
        CONNECTING,
        HANDING_OVER,
        RELAYING,
        ENDED
}; /* what it waits for */

struct reach { /* what is needed up to RELAYING alone */
        struct net_lookup lookup;
        unsigned next;             /* address to try */
        char why[NET_WHY];         /* why the last one was not it */
        unsigned verdict;          /* likewise */
        struct net_edge_wait edge; /* while it is handed over to cay-edge */
        struct net_conn *conn;
};

struct side { /* one direction and whether a rate holds it back */
        struct net_pump pump;
        int wait; /* enum net_pump_wait */
        bool is_held;
};

struct net_conn {
        struct net_box *box;
        struct net_conn *prev, *next; /* the box's list */
        struct cay_watch client, server;
        struct cay_timer deadline;
        struct reach *reach;     /* owned; NULL from RELAYING on */
        char *name;              /* owned; NULL: an address was asked for */
        char *rule;              /* owned; NULL: none decided */
        struct net_proxy *proxy; /* owned; NULL: it was diverted */
        struct net_dial
                *dial; /* instead of a socket of its own: into a sandbox of the same private network */
        struct cay_address address; /* asked for, then connected to */
        uint16_t port;
        enum step step;
        bool is_name_checked; /* the TLS server name was the name */
        bool has_secrets;     /* its other side is cay-edge (edge.h) */
        bool is_stream;       /* its client is not a TCP socket */
        struct side up, down;
        uint64_t number, began_ms;
        struct cay_deferred gone;
};

static void try_next(struct net_conn *c);
static void begin_queued(struct net_conn *c);
static void relay(struct net_conn *c);

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

/* Log */

static void log_as(struct net_conn *c, unsigned verdict, const char *why)
{
        struct net_log_entry e = { .kind = c->is_name_checked || c->step == HELLO ? NET_LOG_TLS : NET_LOG_TCP,
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

/* Whether a close is a reset. Also for our own death: what is cut off must not look like an end. */
static void set_reset(int fd, bool resets)
{
        const struct linger l = { .l_onoff = resets };

        setsockopt(fd, SOL_SOCKET, SO_LINGER, &l, sizeof(l));
}

void net_conn_set_up_listener(int fd)
{
        const int one = 1;

        set_reset(fd, true);
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
}

static void close_side(struct cay_watch *w, int *fd, bool resets)
{
        cay_watch_remove(w);
        if (*fd < 0)
                return;
        set_reset(*fd, resets);
        close(*fd);
        *fd = -1;
}

static void close_server(struct net_conn *c, bool resets)
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

static void release_side(struct net_conn *c, struct side *s)
{
        c->box->waiting -= s->is_held;
        s->is_held = false;
        net_pump_done(&s->pump, &c->box->world->pipes);
}

static void end(struct net_conn *c, bool resets)
{
        unlink_conn(c);
        c->step = ENDED;
        if (c->reach) {
                net_lookup_end(&c->reach->lookup);
                net_edge_wait_end(&c->reach->edge);
        }
        release_side(c, &c->up);
        release_side(c, &c->down);
        close_side(&c->client, &c->up.pump.from, resets);
        close_server(c, resets);
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
        log_as(c, c->step == RELAYING ? NET_LOG_ENDED : verdict, text);
        if (c->proxy &&
            (!c->proxy->is_told || c->proxy->is_over)) { /* whoever asked in words is told in words */
                net_proxy_refuse(c->proxy, c->up.pump.from, verdict == NET_LOG_REFUSED, text);
                shutdown(c->up.pump.from, SHUT_WR);
                end(c, false);
                return;
        }
        end(c, true);
}

static void on_deadline(struct cay_timer *t)
{
        struct net_conn *c = cay_container_of(t, struct net_conn, deadline);

        if (c->step == QUEUED)
                begin_queued(c);
        else if (c->step == ASKED)
                net_conn_end(c, NET_LOG_REFUSED, "no request for the proxy came in time");
        else if (c->step == HELLO)
                net_conn_end(c, NET_LOG_REFUSED, "no TLS server name came in time");
        else if (c->step == RESOLVING)
                net_conn_end(c, NET_LOG_FAILED, "the name could not be looked up in time");
        else if (c->step == HANDING_OVER)
                net_conn_end(c, NET_LOG_FAILED, "cay-edge takes no more connections now");
        else if (c->reach->next < c->reach->lookup.count) {
                snprintf(c->reach->why, sizeof(c->reach->why), "no answer in time");
                c->reach->verdict = NET_LOG_FAILED;
                try_next(c);
        } else
                net_conn_end(c, NET_LOG_FAILED, "no answer in time");
}

/* Relaying */

static int set_watch(struct net_conn *c, struct cay_watch *w, int fd, uint32_t events,
                     void (*on_event)(struct cay_watch *w, uint32_t events))
{
        if (w->loop) {
                w->on_event = on_event;
                return cay_watch_set(w, events);
        }
        return events ? cay_watch_add(c->box->world->loop, w, fd, events, on_event) : 0;
}

static void on_relay(struct net_conn *c, struct cay_watch *w, uint32_t events)
{
        int error = 0;
        socklen_t len = sizeof(error);

        if (w->events == 0) { /* a socket that nothing is wanted of: reset, or closed both ways */
                getsockopt(w->fd, SOL_SOCKET, SO_ERROR, &error, &len);
                if (error != 0)
                        net_conn_end(c, NET_LOG_ENDED, strerror(error));
                else
                        cay_watch_remove(w);
                return;
        }
        relay(c);
}

static void on_client(struct cay_watch *w, uint32_t events)
{
        on_relay(cay_container_of(w, struct net_conn, client), w, events);
}

static void on_server(struct cay_watch *w, uint32_t events)
{
        on_relay(cay_container_of(w, struct net_conn, server), w, events);
}

static uint32_t events_for(const struct side *reads, const struct side *writes)
{
        uint32_t events = 0;

        if (!reads->is_held && (reads->wait == NET_PUMP_IN || reads->wait == NET_PUMP_MORE))
                events |= EPOLLIN;
        if (writes->wait == NET_PUMP_OUT)
                events |= EPOLLOUT;
        return events;
}

/* One turn of a direction. False: the connection is over. */
static bool step_side(struct net_conn *c, struct side *s, bool is_up)
{
        size_t most = s->pump.held > 0 || s->wait == NET_PUMP_OVER ? 0 : net_box_allowance(c->box, is_up),
               got;
        bool holds = most == 0 && s->pump.held == 0 && s->wait != NET_PUMP_OVER && !s->pump.is_read;

        c->box->waiting += (unsigned)holds - (unsigned)s->is_held;
        s->is_held = holds;
        if (holds) {
                net_box_wait(c->box);
                return true;
        }
        if (s->wait == NET_PUMP_OVER)
                return true;
        s->wait = net_pump_step(&s->pump, &c->box->world->pipes, most, &got);
        if (s->wait < 0) {
                net_conn_end(c, NET_LOG_ENDED, strerror(-s->wait));
                return false;
        }
        return got == 0 || !net_box_count(c->box, is_up, got);
}

static void relay(struct net_conn *c)
{
        if (!step_side(c, &c->up, true) || !step_side(c, &c->down, false))
                return;
        if (c->up.wait == NET_PUMP_OVER && c->down.wait == NET_PUMP_OVER) {
                log_as(c, NET_LOG_ENDED, "closed");
                end(c, false);
                return;
        }
        if (set_watch(c, &c->client, c->up.pump.from, events_for(&c->up, &c->down), on_client) < 0 ||
            set_watch(c, &c->server, c->up.pump.to, events_for(&c->down, &c->up), on_server) < 0)
                net_conn_end(c, NET_LOG_ENDED, "no memory");
}

void net_conn_go_on(struct net_conn *c)
{
        unlink_conn(c);
        link_last(c);
        if (c->step == RELAYING && (c->up.is_held || c->down.is_held))
                relay(c);
}

/* What was asked of the proxy is there: says so, and passes a plain request on. False: it has been ended. */
static bool answer_proxy(struct net_conn *c)
{
        ssize_t sent = 0;

        if (!c->proxy)
                return true;
        if (net_proxy_agree(c->proxy, c->up.pump.from) < 0 ||
            (sent = net_proxy_pass_on(c->proxy, c->up.pump.to)) < 0) {
                net_conn_end(c, NET_LOG_FAILED, "closed before it was answered");
                return false;
        }
        c->up.pump.bytes += (uint64_t)sent;
        return sent == 0 || !net_box_count(c->box, true, (size_t)sent);
}

static void begin_relay(struct net_conn *c)
{
        const int one = 1;

        if (!answer_proxy(c))
                return;
        setsockopt(c->up.pump.to, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
        setsockopt(c->up.pump.to, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof(one));
        if (c->is_name_checked || c->proxy) /* it was raised while a hello or a request was read */
                setsockopt(c->up.pump.from, SOL_SOCKET, SO_RCVLOWAT, &one, sizeof(one));
        set_reset(c->up.pump.to, true);
        cay_timer_clear(&c->deadline);
        free(c->reach);
        c->reach = NULL;
        c->step = RELAYING;
        c->down.pump.from = c->up.pump.to;
        c->down.pump.to = c->up.pump.from;
        log_as(c, NET_LOG_ALLOWED, "");
        relay(c);
}

/* Connections with secrets */

static void on_handed_over(struct net_edge_wait *w, int r, const char *why)
{
        struct net_conn *c = cay_container_of(w, struct reach, edge)->conn;

        if (r < 0)
                net_conn_end(c, NET_LOG_FAILED, why);
        else
                begin_relay(c);
}

static void hand_over(struct net_conn *c)
{
        struct net_edge_wait *w = &c->reach->edge;
        char why[NET_WHY];
        int r;

        cay_watch_remove(&c->server);
        cay_timer_set(c->box->world->loop, &c->deadline, NET_REACH_MS, on_deadline);
        c->step = HANDING_OVER;
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
                begin_relay(c);
}

/* Connecting */

static void on_reached(struct net_conn *c)
{
        if (c->is_name_checked && net_edge_has(c->box, c->name, c->port))
                hand_over(c);
        else
                begin_relay(c);
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
        try_next(c);
}

/* 0: it goes on; -1: it is connected already, as to servers nearby; or a positive errno. */
static int start_connect(struct net_conn *c)
{
        struct sockaddr_storage to;
        socklen_t len = cay_address_to_socket(&c->address, c->port, &to);
        int fd = socket(to.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), r = 0;

        if (fd < 0)
                return errno;
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

static bool judge(struct net_conn *c, char why[NET_WHY])
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
static void try_next(struct net_conn *c)
{
        struct reach *reach = c->reach;

        close_server(c, true);
        c->step = CONNECTING;
        while (reach->next < reach->lookup.count) {
                int r;

                c->address = reach->lookup.addresses[reach->next++];
                if (!judge(c, reach->why)) {
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
                                      on_deadline);
                        return;
                }
                snprintf(reach->why, sizeof(reach->why), "%s", strerror(r));
                reach->verdict = NET_LOG_FAILED;
        }
        net_conn_end(c, reach->verdict, reach->why);
}

static void on_resolved(struct net_lookup *l)
{
        struct reach *reach = cay_container_of(l, struct reach, lookup);
        struct net_conn *c = reach->conn;

        if (l->count == 0) {
                net_conn_end(c, NET_LOG_FAILED, l->why);
                return;
        }
        try_next(c);
}

static void find_addresses(struct net_conn *c)
{
        cay_timer_set(c->box->world->loop, &c->deadline, NET_REACH_MS, on_deadline);
        c->step = RESOLVING;
        if (c->name) {
                c->reach->lookup.on_done = on_resolved;
                net_resolver_find(c->box->world->resolver, c->name, &c->reach->lookup);
                return;
        }
        c->reach->lookup.addresses[0] = c->address;
        c->reach->lookup.count = 1;
        try_next(c);
}

/* Private networks */

static const char *why_not_member(struct net_conn *c, struct net_box **ret)
{
        const struct cay_policy_target t = { .name = c->name, .port = c->port };
        const char *why = NULL;

        if (cay_policy_pair_denies(&c->box->policy, &t))
                return "it is denied by a rule";
        *ret = net_member_find(c->box, c->name, &why);
        return *ret ? NULL : why;
}

static void enter_member(struct net_conn *c)
{
        struct net_box *target = NULL;
        const char *why = why_not_member(c, &target);
        char rule[CAY_NAME_MAX + 24];
        int r = 0;

        memset(&c->address, 0, sizeof(c->address)); /* of no address that means anything outside */
        if (why) {
                net_conn_end(c, NET_LOG_REFUSED, why);
                return;
        }
        snprintf(rule, sizeof(rule), "private network %s", c->box->policy.member.network);
        c->rule = strdup(rule);
        c->step = CONNECTING;
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
                cay_timer_set(c->box->world->loop, &c->deadline, NET_REACH_MS, on_deadline);
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
        find_addresses(c);
}

static bool needs_hello(const struct net_conn *c)
{
        const struct cay_policy_target t = { .name = c->name, .port = c->port };

        return c->port == TLS_PORT &&
               (cay_policy_pair_checks_names(&c->box->policy, &t) || net_edge_has(c->box, c->name, c->port));
}

/* Beginning */

/* A stream knows no least number of bytes (SO_RCVLOWAT): it is reported when more has come. */
static uint32_t hearing(const struct net_conn *c)
{
        return EPOLLIN | EPOLLRDHUP | (c->is_stream ? EPOLLET : 0u);
}

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

static void begin_hello(struct net_conn *c)
{
        c->step = HELLO;
        if (c->proxy && net_proxy_agree(c->proxy, c->up.pump.from) < 0) { /* the hello comes after that */
                net_conn_end(c, NET_LOG_FAILED, "closed before it was answered");
                return;
        }
        cay_timer_set(c->box->world->loop, &c->deadline, NET_HELLO_MS, on_deadline);
        if (cay_watch_add(c->box->world->loop, &c->client, c->up.pump.from, hearing(c), on_hello) < 0)
                net_conn_end(c, NET_LOG_FAILED, "no memory");
}

/* What it wants is known. */
static void begin(struct net_conn *c)
{
        char why[NET_WHY];

        if (!c->name && cay_address_is_loopback(&c->address)) { /* never diverted */
                net_conn_end(c, NET_LOG_REFUSED, "loopback is the sandbox's own: nothing listens there");
        } else if (!c->name && cay_names_is_one(&c->address)) {
                net_conn_end(c, NET_LOG_REFUSED,
                             "the address stands for no name any more: look the name up again");
        } else if (c->name && net_member_is_name(c->box, c->name)) {
                enter_member(c);
        } else if (c->name && !cay_policy_pair_knows(&c->box->policy, c->name)) {
                snprintf(why, sizeof(why), "%.80s is not in the sandbox's list of allowed hosts", c->name);
                net_conn_end(c, NET_LOG_REFUSED, why);
        } else if (needs_hello(c)) {
                begin_hello(c);
        } else {
                find_addresses(c);
        }
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
        c->step = BEGINNING;
        begin(c);
}

/* By loopback nothing is diverted: it came straight to the listening socket, and will say what it wants. */
static bool is_for_proxy(const struct net_conn *c)
{
        return !c->name && c->port == SYS_DIVERT_PORT && cay_address_is_loopback(&c->address);
}

static void begin_proxy(struct net_conn *c)
{
        c->step = ASKED;
        memset(&c->address, 0, sizeof(c->address)); /* the listener's is of no interest */
        c->port = 0;
        c->proxy = calloc(1, sizeof(*c->proxy));
        cay_timer_set(c->box->world->loop, &c->deadline, NET_HELLO_MS, on_deadline);
        if (!c->proxy ||
            cay_watch_add(c->box->world->loop, &c->client, c->up.pump.from, hearing(c), on_request) < 0)
                net_conn_end(c, NET_LOG_FAILED, "no memory");
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
        struct reach *reach = calloc(1, sizeof(*reach));

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
                begin_proxy(c);
        else
                begin(c);
}

static void begin_queued(struct net_conn *c)
{
        struct net_bucket *rate = &c->box->connects;

        if (net_bucket_look(rate, cay_clock_ns()) == 0) {
                c->step = QUEUED;
                cay_timer_set(c->box->world->loop, &c->deadline, NET_QUEUE_MS, on_deadline);
                return;
        }
        net_bucket_take(rate, 1);
        begin_proxy(c);
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
                is_allowed = why_not_member(c, &target) == NULL && target == c->dial->box;
                snprintf(why, sizeof(why), "it may not reach the other sandbox any more");
        } else if (c->name && !cay_policy_pair_knows(&c->box->policy, c->name)) {
                snprintf(why, sizeof(why), "%.80s is not in the sandbox's list of allowed hosts", c->name);
                is_allowed = false;
        } else if (c->step >= RESOLVING && needs_hello(c) && !c->is_name_checked) {
                snprintf(why, sizeof(why), "its TLS server name was not compared");
                is_allowed = false;
        } else if (c->step >= CONNECTING) {
                is_allowed = judge(c, why);
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
