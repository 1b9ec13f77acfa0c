/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-net/flow.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "cay-net/member.h"
#include "cay-net/packet.h"
#include "foundation/base/clock.h"
#include "foundation/base/str.h"

#define TURN 64u /* datagrams in one turn */
#define SAME_MS 1000u

enum step { RESOLVING, OPEN, REFUSED };

struct waiting { /* a datagram that waits for the name */
        struct waiting *next;
        size_t len;
        uint8_t bytes[];
};

struct net_flow {
        struct net_box *box;
        struct net_flow *older, *newer; /* the box's list, by use */
        struct net_flow *next_same;     /* in its slot of the table */
        struct net_ends ends;           /* from the sandbox's program to what it asked for */
        struct cay_watch server;        /* descriptor owned; connected */
        struct cay_timer timer;         /* its end, when nothing happens */
        struct net_lookup lookup;
        char *name, *rule;          /* owned; NULL: none */
        struct cay_address address; /* connected to */
        enum step step;
        struct waiting *waiting, *waiting_last; /* owned; oldest first */
        unsigned waiting_count;
        uint64_t number, began_ms, last_ms, up_bytes, down_bytes;
        struct cay_deferred gone;
};

static uint8_t datagram[NET_DATAGRAM_MAX + 1]; /* the one that is passed on now */

/* The table, and the order of use */

static unsigned slot_of(const struct net_ends *e)
{
        uint32_t h = 2166136261u;

        for (size_t i = 0; i < sizeof(*e); i++)
                h = (h ^ ((const uint8_t *)e)[i]) * 16777619u;
        return h % NET_FLOW_SLOTS;
}

static struct net_flow *find(struct net_box *b, const struct net_ends *e)
{
        struct net_flow *f = b->flows.slots[slot_of(e)];

        while (f && memcmp(&f->ends, e, sizeof(*e)) != 0)
                f = f->next_same;
        return f;
}

static void unlink_use(struct net_flow *f)
{
        struct net_flows *all = &f->box->flows;

        *(f->older ? &f->older->newer : &all->oldest) = f->newer;
        *(f->newer ? &f->newer->older : &all->newest) = f->older;
}

static void link_newest(struct net_flow *f)
{
        struct net_flows *all = &f->box->flows;

        f->older = all->newest;
        f->newer = NULL;
        *(all->newest ? &all->newest->newer : &all->oldest) = f;
        all->newest = f;
}

static void use(struct net_flow *f)
{
        f->last_ms = cay_clock_ms();
        unlink_use(f);
        link_newest(f);
}

/* Log */

static void log_as(struct net_flow *f, unsigned verdict, const char *why)
{
        struct net_log_entry e = { .kind = NET_LOG_UDP,
                                   .verdict = verdict,
                                   .connection = f->number,
                                   .port = f->ends.to_port,
                                   .up_bytes = f->up_bytes,
                                   .down_bytes = f->down_bytes,
                                   .duration_ms = cay_clock_ms() - f->began_ms };

        if (!cay_names_is_one(&f->address))
                memcpy(e.address, f->address.bytes, sizeof(e.address));
        cay_str_copy(e.name, sizeof(e.name), f->name ? f->name : "");
        cay_str_copy(e.rule, sizeof(e.rule), f->rule ? f->rule : "");
        cay_str_copy(e.why, sizeof(e.why), why);
        net_box_log(f->box, &e);
}

/* To the sandbox */

static void send_raw(struct net_box *b, const struct cay_address *to, struct iovec *parts, size_t count)
{
        bool is_v4 = cay_address_is_v4(to);
        struct sockaddr_storage address;
        struct msghdr m = { .msg_name = &address, .msg_iov = parts, .msg_iovlen = count };

        m.msg_namelen = cay_address_to_socket(to, 0, &address);
        sendmsg(is_v4 ? b->raw4 : b->raw6, &m, MSG_DONTWAIT | MSG_NOSIGNAL); /* what has no room is lost */
}

static void say_unreachable(struct net_box *b, const struct net_ends *e, size_t len)
{
        uint8_t packet[NET_UNREACHABLE_MAX];
        struct iovec part = { packet, net_packet_unreachable(e, len, packet) };

        send_raw(b, &e->from, &part, 1);
}

static void pass_answer(struct net_flow *f, void *bytes, size_t len)
{
        const struct net_ends back = { .from = f->ends.to,
                                       .to = f->ends.from,
                                       .from_port = f->ends.to_port,
                                       .to_port = f->ends.from_port };
        uint8_t head[NET_PACKET_HEAD];
        struct iovec parts[] = { { head, net_packet_udp_head(&back, bytes, len, head) }, { bytes, len } };

        send_raw(f->box, &back.to, parts, 2);
}

/* Ending */

static void free_later(struct cay_deferred *d)
{
        struct net_flow *f = cay_container_of(d, struct net_flow, gone);

        free(f->name);
        free(f->rule);
        free(f);
}

static void drop_waiting(struct net_flow *f)
{
        while (f->waiting) {
                struct waiting *w = f->waiting;

                f->waiting = w->next;
                f->box->flows.waiting_bytes -= w->len;
                free(w);
        }
        f->waiting_last = NULL;
        f->waiting_count = 0;
}

/* Takes what it holds: its socket, its lookup, its place among the connections. */
static void let_go(struct net_flow *f)
{
        int fd = f->server.fd;
        bool has_socket = f->server.loop;

        cay_watch_remove(&f->server);
        if (has_socket)
                close(fd);
        net_lookup_end(&f->lookup);
        drop_waiting(f);
        if (f->step != REFUSED) {
                f->box->conn_count--;
                f->box->world->connections--;
        } else {
                f->box->flows.refused--;
        }
}

static void end(struct net_flow *f)
{
        struct net_flow **at = &f->box->flows.slots[slot_of(&f->ends)];

        while (*at != f)
                at = &(*at)->next_same;
        *at = f->next_same;
        unlink_use(f);
        let_go(f);
        cay_timer_clear(&f->timer);
        f->gone.run = free_later;
        cay_loop_defer(f->box->world->loop, &f->gone);
}

static void on_refused_time(struct cay_timer *t)
{
        end(cay_container_of(t, struct net_flow, timer));
}

/* Nobody is there, as far as the sandbox can know; what it still sends is answered likewise for a moment. */
static void refuse(struct net_flow *f, unsigned verdict, const char *why)
{
        struct net_box *b = f->box;
        char text[NET_WHY]; /* it may lie in what ends here */

        snprintf(text, sizeof(text), "%s", why);
        b->stats.refused += verdict == NET_LOG_REFUSED;
        log_as(f, f->step == OPEN ? NET_LOG_ENDED : verdict, text);
        say_unreachable(b, &f->ends, 0);
        if (b->flows.refused >= NET_FLOWS_REFUSED_MAX) {
                end(f);
                return;
        }
        let_go(f);
        f->step = REFUSED;
        b->flows.refused++;
        cay_timer_set(b->world->loop, &f->timer, NET_FLOW_REFUSED_MS, on_refused_time);
}

static void finish(struct net_flow *f, const char *why)
{
        log_as(f, NET_LOG_ENDED, why);
        end(f);
}

void net_flow_end_all(struct net_box *b, const char *why)
{
        while (b->flows.oldest) {
                struct net_flow *f = b->flows.oldest;

                if (f->step != REFUSED) {
                        log_as(f, f->step == OPEN ? NET_LOG_ENDED : NET_LOG_REFUSED, why);
                        say_unreachable(b, &f->ends, 0);
                }
                end(f);
        }
}

/* Passing on */

static uint64_t idle_ms(const struct net_flow *f)
{
        uint64_t ms = f->box->limits.udp_idle_s * 1000ull;

        return f->down_bytes > 0 ? 4 * ms : ms;
}

static void on_idle(struct cay_timer *t)
{
        struct net_flow *f = cay_container_of(t, struct net_flow, timer);
        uint64_t idle = cay_clock_ms() - f->last_ms, most = idle_ms(f);

        if (idle < most)
                cay_timer_set(f->box->world->loop, t, most - idle, on_idle);
        else
                finish(f, "idle");
}

/* False: the flow is gone. */
static bool pass_on(struct net_flow *f, const void *bytes, size_t len)
{
        size_t most = net_box_allowance(f->box, true);

        use(f);
        if (most == 0 || len > NET_DATAGRAM_MAX)
                return true;
        if (send(f->server.fd, bytes, len, MSG_DONTWAIT | MSG_NOSIGNAL) < 0) {
                if (errno != ECONNREFUSED)
                        return true; /* too long for a way, no room: lost */
                refuse(f, NET_LOG_FAILED, strerror(ECONNREFUSED));
                return false;
        }
        f->up_bytes += len;
        return !net_box_count(f->box, true, len);
}

static void on_answers(struct cay_watch *w, uint32_t events)
{
        struct net_flow *f = cay_container_of(w, struct net_flow, server);

        for (unsigned i = 0; i < TURN; i++) {
                ssize_t n = recv(w->fd, datagram, sizeof(datagram), MSG_DONTWAIT);

                if (n < 0 && errno == ECONNREFUSED) {
                        refuse(f, NET_LOG_FAILED, strerror(ECONNREFUSED));
                        return;
                }
                if (n < 0)
                        return; /* none is there */
                use(f);
                if ((size_t)n > NET_DATAGRAM_MAX || net_box_allowance(f->box, false) == 0)
                        continue;
                f->down_bytes += (size_t)n;
                pass_answer(f, datagram, (size_t)n);
                if (net_box_count(f->box, false, (size_t)n))
                        return;
        }
}

/* Opening */

static bool judge(struct net_flow *f, char why[NET_WHY])
{
        const struct cay_policy_target t = {
                .name = f->name, .address = f->address, .port = f->ends.to_port, .is_udp = true
        };
        struct cay_policy_verdict v;

        net_box_judge(f->box, &t, &v);
        free(f->rule);
        f->rule = v.rule ? strdup(v.rule->text) : NULL;
        if (!v.is_allowed)
                snprintf(why, NET_WHY, "%s", v.why);
        return v.is_allowed;
}

/* 0, or a positive errno. */
static int connect_socket(struct net_flow *f)
{
        struct sockaddr_storage to;
        socklen_t len = cay_address_to_socket(&f->address, f->ends.to_port, &to);
        int fd = socket(to.ss_family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), r = 0;

        if (fd < 0)
                return errno;
        if (connect(fd, (struct sockaddr *)&to, len) < 0)
                r = errno;
        if (r == 0)
                r = -cay_watch_add(f->box->world->loop, &f->server, fd, EPOLLIN, on_answers);
        if (r != 0)
                close(fd);
        return r;
}

static void send_waiting(struct net_flow *f)
{
        bool is_there = true;

        while (is_there && f->waiting) {
                struct waiting *w = f->waiting;

                f->waiting = w->next;
                f->waiting_count--;
                f->box->flows.waiting_bytes -= w->len;
                if (!f->waiting)
                        f->waiting_last = NULL;
                is_there = pass_on(f, w->bytes, w->len);
                free(w);
        }
}

/* The first address that is allowed and can be connected to. */
static void try_all(struct net_flow *f)
{
        unsigned verdict = NET_LOG_REFUSED;
        char why[NET_WHY] = "";

        for (unsigned i = 0; i < f->lookup.count; i++) {
                int r;

                f->address = f->lookup.addresses[i];
                if (!judge(f, why)) {
                        verdict = NET_LOG_REFUSED;
                        continue;
                }
                r = connect_socket(f);
                if (r == 0) {
                        f->step = OPEN;
                        cay_timer_set(f->box->world->loop, &f->timer, idle_ms(f), on_idle);
                        log_as(f, NET_LOG_ALLOWED, "");
                        send_waiting(f);
                        return;
                }
                snprintf(why, sizeof(why), "%s", strerror(r));
                verdict = NET_LOG_FAILED;
        }
        refuse(f, verdict, why);
}

static void on_resolved(struct net_lookup *l)
{
        struct net_flow *f = cay_container_of(l, struct net_flow, lookup);

        if (l->count == 0)
                refuse(f, NET_LOG_FAILED, l->why);
        else
                try_all(f);
}

static void on_unresolved(struct cay_timer *t)
{
        refuse(cay_container_of(t, struct net_flow, timer), NET_LOG_FAILED,
               "the name could not be looked up in time");
}

static void keep_waiting(struct net_flow *f, const void *bytes, size_t len)
{
        struct waiting *w;

        if (f->waiting_count >= NET_FLOW_WAITING_MAX ||
            f->box->flows.waiting_bytes + len > NET_FLOW_WAITING_BYTES)
                return;
        w = malloc(sizeof(*w) + len);
        if (!w)
                return;
        w->next = NULL;
        w->len = len;
        memcpy(w->bytes, bytes, len);
        *(f->waiting_last ? &f->waiting_last->next : &f->waiting) = w;
        f->waiting_last = w;
        f->waiting_count++;
        f->box->flows.waiting_bytes += len;
}

static void begin(struct net_flow *f)
{
        struct net_box *b = f->box;
        char why[NET_WHY];

        if (b->is_over_quota) {
                refuse(f, NET_LOG_REFUSED, "quota");
        } else if (b->conn_count > b->limits.connections) {
                snprintf(why, sizeof(why), "limit: more than %u connections at once", b->limits.connections);
                refuse(f, NET_LOG_REFUSED, why);
        } else if (b->world->connections > b->world->connections_most) {
                refuse(f, NET_LOG_REFUSED, "limit: all sandboxes together have too many connections");
        } else if (!f->name && cay_address_is_loopback(&f->address)) { /* it came straight to the socket */
                refuse(f, NET_LOG_REFUSED, "loopback is the sandbox's own: nothing listens there");
        } else if (!f->name && cay_names_is_one(&f->address)) {
                refuse(f, NET_LOG_REFUSED, "the address stands for no name any more: look the name up again");
        } else if (f->name && net_member_is_name(b, f->name)) {
                refuse(f, NET_LOG_REFUSED, "private networks are for TCP alone");
        } else if (f->name && !cay_policy_pair_knows(&b->policy, f->name)) {
                snprintf(why, sizeof(why), "%.80s is not in the sandbox's list of allowed hosts", f->name);
                refuse(f, NET_LOG_REFUSED, why);
        } else if (f->name) {
                cay_timer_set(b->world->loop, &f->timer, NET_FLOW_REACH_MS, on_unresolved);
                f->lookup.on_done = on_resolved;
                net_resolver_find(b->world->resolver, f->name, &f->lookup);
        } else {
                f->lookup.addresses[0] = f->address;
                f->lookup.count = 1;
                try_all(f);
        }
}

/* At the limit the one that was idle longest gives way, if it was idle at all. */
static void make_room(struct net_box *b)
{
        struct net_flow *f = b->flows.oldest;

        while (f && f->step != OPEN)
                f = f->newer;
        if (b->conn_count >= b->limits.connections && f && cay_clock_ms() - f->last_ms >= SAME_MS)
                finish(f, "idle, and others need its place");
}

static void open_flow(struct net_box *b, const struct net_ends *e, size_t len)
{
        struct net_flow *f;
        const char *name;

        if (net_bucket_look(&b->connects, cay_clock_ns()) == 0)
                return; /* lost: there is nothing that could wait */
        net_bucket_take(&b->connects, 1);
        make_room(b);
        f = calloc(1, sizeof(*f));
        if (!f)
                return;
        name = cay_names_find(b->names, &e->to);
        f->box = b;
        f->ends = *e;
        f->address = e->to;
        f->name = name ? strdup(name) : NULL;
        f->number = ++b->world->last_connection;
        f->began_ms = f->last_ms = cay_clock_ms();
        f->next_same = b->flows.slots[slot_of(e)];
        b->flows.slots[slot_of(e)] = f;
        link_newest(f);
        b->conn_count++;
        b->world->connections++;
        b->stats.connections_all++;
        keep_waiting(f, datagram, len);
        begin(f);
}

/* Receiving */

static bool read_ends(struct msghdr *m, struct net_ends *ret)
{
        struct sockaddr_storage address;
        bool has_to = false;

        memset(ret, 0, sizeof(*ret)); /* it is compared whole */
        memcpy(&address, m->msg_name, sizeof(address));
        if (!cay_address_from_socket(&address, &ret->from, &ret->from_port))
                return false;
        for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
                bool is_v4 = c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_ORIGDSTADDR;
                size_t size = is_v4 ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6);

                if ((!is_v4 && (c->cmsg_level != IPPROTO_IPV6 || c->cmsg_type != IPV6_ORIGDSTADDR)) ||
                    c->cmsg_len < CMSG_LEN(size))
                        continue;
                memset(&address, 0, sizeof(address));
                memcpy(&address, CMSG_DATA(c), size);
                has_to = cay_address_from_socket(&address, &ret->to, &ret->to_port);
        }
        return has_to && cay_address_is_v4(&ret->from) == cay_address_is_v4(&ret->to);
}

static void take_datagram(struct net_box *b, const struct net_ends *e, size_t len)
{
        struct net_flow *f = find(b, e);

        if (!f)
                open_flow(b, e, len);
        else if (f->step == REFUSED)
                say_unreachable(b, e, len);
        else if (f->step == RESOLVING)
                keep_waiting(f, datagram, len);
        else
                pass_on(f, datagram, len);
}

void net_flow_on_datagram(struct cay_watch *w, uint32_t events)
{
        struct net_box *b = cay_container_of(w, struct net_box, udp);

        for (unsigned i = 0; i < TURN; i++) {
                _Alignas(struct cmsghdr) uint8_t control[256];
                struct sockaddr_storage from = { 0 };
                struct iovec part = { datagram, sizeof(datagram) };
                struct msghdr m = { .msg_name = &from,
                                    .msg_namelen = sizeof(from),
                                    .msg_iov = &part,
                                    .msg_iovlen = 1,
                                    .msg_control = control,
                                    .msg_controllen = sizeof(control) };
                struct net_ends ends;
                ssize_t n = recvmsg(w->fd, &m, MSG_DONTWAIT);

                if (n < 0)
                        return;
                if ((size_t)n <= NET_DATAGRAM_MAX && read_ends(&m, &ends))
                        take_datagram(b, &ends, (size_t)n);
        }
}

/* Changes */

static const char *why_not_any_more(struct net_flow *f, char why[NET_WHY])
{
        if (f->name && !cay_policy_pair_knows(&f->box->policy, f->name)) {
                snprintf(why, NET_WHY, "%.80s is not in the sandbox's list of allowed hosts", f->name);
                return why;
        }
        return f->step == OPEN && !judge(f, why) ? why : NULL;
}

void net_flow_judge_again(struct net_box *b)
{
        struct net_flow *next;

        for (struct net_flow *f = b->flows.oldest; f; f = next) {
                char why[NET_WHY], text[NET_WHY];

                next = f->newer;
                if (f->step == REFUSED) {
                        end(f); /* what was refused may be allowed now */
                } else if (why_not_any_more(f, why)) {
                        snprintf(text, sizeof(text), "the policy changed: %.160s", why);
                        refuse(f, NET_LOG_REFUSED, text);
                }
        }
}
