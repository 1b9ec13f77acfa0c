/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-net/box.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cay-net/conn.h"
#include "cay-net/edge.h"
#include "cay-net/flow.h"
#include "cay-net/member.h"
#include "cay-net/stub.h"
#include "foundation/base/clock.h"
#include "foundation/base/fair.h"
#include "foundation/base/log.h"
#include "foundation/base/str.h"
#include "foundation/sys/net_refused.h"
#include "foundation/sys/route.h"

#define ACCEPTS 64u              /* in one turn */
#define AGAIN_MS 20u             /* between two turns that a rate holds back */
#define TURN_BYTES (1024 * 1024) /* of one direction in one turn */
#define LEAST_BYTES 1460u        /* less is not worth a turn */
#define NOTES 64u                /* of what the kernel refused, in one turn */

/* Log */

void net_box_log(struct net_box *b, struct net_log_entry *e)
{
        e->wall_ms = cay_clock_wall_ms();
        net_log_add(&b->log, e);
        if (b->world->on_log)
                b->world->on_log(b->world, b, e->verdict);
}

static void unwatch(struct cay_watch *w)
{
        int fd = w->fd;
        bool is_watched = w->loop;

        cay_watch_remove(w);
        if (is_watched)
                close(fd);
}

/* What the kernel refused */

void net_box_note_refused(struct net_box *b)
{
        struct sys_refused refused;
        int r = b->refused.loop ? sys_refused_read(b->refused.fd, &refused) : 0;

        for (unsigned i = 0; r > 0 && i < NOTES; i++) {
                struct net_log_entry e = { .kind = NET_LOG_TCP,
                                           .verdict = NET_LOG_REFUSED,
                                           .port = refused.port };

                memcpy(e.address, refused.address, sizeof(e.address));
                snprintf(e.why, sizeof(e.why), "no rule allows this address: the kernel refused it");
                b->stats.refused++;
                net_box_log(b, &e);
                r = sys_refused_read(b->refused.fd, &refused);
        }
        if (r < 0) { /* else it would be told for ever */
                cay_log_warn("the kernel tells no more what it refuses", "id=%s errno=%d", b->id, -r);
                unwatch(&b->refused);
        }
}

static void on_refused(struct cay_watch *w, uint32_t events)
{
        net_box_note_refused(cay_container_of(w, struct net_box, refused));
}

/* Judging */

bool net_box_is_fair(const struct net_box *b)
{
        unsigned most = b->world->connections_most;

        return cay_fair_has_room(most, most, b->world->connections - 1, b->conn_count - 1);
}

static int is_own(const struct net_world *world, const struct cay_address *a)
{
        bool is_v4 = cay_address_is_v4(a);

        return sys_route_is_local(world->routes, a->bytes + (is_v4 ? 12 : 0), is_v4 ? 4 : 16);
}

int net_world_is_own(const struct net_world *world, const struct cay_address *a)
{
        int r = is_own(world, a);
        struct cay_address inside;

        return r != 1 && cay_address_inside(a, &inside) && is_own(world, &inside) == 1 ? 1 : r;
}

/* Then connecting fails as well, and says so. */
static bool is_unrouted(int r)
{
        return r == -ENETUNREACH || r == -EHOSTUNREACH || r == -EACCES || r == -EINVAL;
}

void net_box_judge(struct net_box *b, const struct cay_policy_target *t, struct cay_policy_verdict *ret)
{
        char text[CAY_ADDRESS_TEXT];
        int r;

        cay_policy_pair_judge(&b->policy, t, ret);
        if (!ret->is_allowed || cay_policy_pair_names_address(&b->policy, t))
                return;
        r = net_world_is_own(b->world, &t->address);
        if (r == 0 || is_unrouted(r))
                return;
        ret->is_allowed = false;
        cay_address_text(&t->address, text);
        if (r == 1)
                snprintf(ret->why, sizeof(ret->why), "%.60s%s%s%s is the host's own: " CAY_POLICY_BY_ADDRESS,
                         t->name ? t->name : "", t->name ? " leads to " : "", text, t->name ? ", which" : "");
        else
                snprintf(ret->why, sizeof(ret->why),
                         "%s: the kernel does not say whether it is the host's own", text);
}

/* Rates and quota */

static uint64_t used(const struct net_box *b)
{
        return b->stats.up_bytes + b->stats.down_bytes;
}

size_t net_box_allowance(struct net_box *b, bool is_up)
{
        struct net_bucket *bucket = is_up ? &b->up : &b->down;
        uint64_t left = net_bucket_look(bucket, cay_clock_ns()), most = TURN_BYTES;

        if (bucket->rate != 0 && b->waiting > 1)
                left = left / b->waiting > LEAST_BYTES ? left / b->waiting
                       : left < LEAST_BYTES            ? left
                                                       : LEAST_BYTES;
        if (bucket->rate != 0 && left < LEAST_BYTES && left < bucket->burst)
                return 0;
        if (left < most)
                most = left;
        if (b->is_over_quota)
                return 0;
        if (b->limits.total_bytes > 0 && b->limits.total_bytes - used(b) < most)
                most = b->limits.total_bytes - used(b);
        return (size_t)most;
}

static void end_all(struct net_box *b, const char *why)
{
        while (b->conns)
                net_conn_end(b->conns, NET_LOG_REFUSED, why);
        net_flow_end_all(b, why);
}

static void reach_quota(struct net_box *b)
{
        struct net_log_entry e = { .kind = NET_LOG_QUOTA,
                                   .verdict = NET_LOG_REFUSED,
                                   .up_bytes = b->stats.up_bytes,
                                   .down_bytes = b->stats.down_bytes };

        b->is_over_quota = true;
        snprintf(e.why, sizeof(e.why), "quota: the sandbox has used its %llu bytes",
                 (unsigned long long)b->limits.total_bytes);
        net_box_log(b, &e);
        end_all(b, "quota");
}

bool net_box_count(struct net_box *b, bool is_up, size_t bytes)
{
        net_bucket_take(is_up ? &b->up : &b->down, bytes);
        if (is_up)
                b->stats.up_bytes += bytes;
        else
                b->stats.down_bytes += bytes;
        if (b->limits.total_bytes == 0 || used(b) < b->limits.total_bytes || b->is_over_quota)
                return false;
        reach_quota(b);
        return true;
}

/* Those that get their turn go to the end of the list, so the next time others are first. */
static void on_go_on(struct cay_timer *t)
{
        struct net_box *b = cay_container_of(t, struct net_box, go_on);
        unsigned count = b->conn_count;

        while (count-- > 0 && b->conns)
                net_conn_go_on(b->conns);
        if (b->waiting > 0)
                net_box_wait(b);
}

void net_box_wait(struct net_box *b)
{
        if (!b->go_on.loop)
                cay_timer_set(b->world->loop, &b->go_on, AGAIN_MS, on_go_on);
}

/* Accepting */

static void on_accept_again(struct cay_timer *t)
{
        struct net_box *b = cay_container_of(t, struct net_box, accept_again);

        cay_watch_set(&b->tcp, EPOLLIN);
}

static void pause_accepting(struct net_box *b, uint64_t ms)
{
        cay_watch_set(&b->tcp, 0);
        cay_timer_set(b->world->loop, &b->accept_again, ms, on_accept_again);
}

static void on_tcp(struct cay_watch *w, uint32_t events)
{
        struct net_box *b = cay_container_of(w, struct net_box, tcp);

        for (unsigned i = 0; i < ACCEPTS; i++) {
                int fd;

                if (net_bucket_look(&b->connects, cay_clock_ns()) == 0) {
                        pause_accepting(b, AGAIN_MS);
                        return;
                }
                fd = accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
                if (fd < 0) {
                        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                                pause_accepting(b, NET_NO_FILES_MS);
                        return; /* EAGAIN, or a connection that is gone again */
                }
                net_bucket_take(&b->connects, 1);
                net_conn_begin_take(b, fd);
        }
}

/* Beginning, changing, ending */

static void set_limits(struct net_box *b, const struct net_limits *asked)
{
        struct net_limits *l = &b->limits;
        uint64_t now = cay_clock_ns();

        *l = *asked;
        if (l->connections == 0)
                l->connections = NET_CONNECTIONS_DEFAULT;
        if (l->connections > NET_CONNECTIONS_MAX)
                l->connections = NET_CONNECTIONS_MAX;
        if (l->connections_s == 0)
                l->connections_s = NET_CONNECTIONS_S_DEFAULT;
        if (l->dns_s == 0)
                l->dns_s = NET_DNS_S_DEFAULT;
        if (l->udp_idle_s == 0)
                l->udp_idle_s = NET_UDP_IDLE_S_DEFAULT;
        net_bucket_set(&b->up, l->up_bytes_s, l->up_bytes_s / 5 + LEAST_BYTES, now);
        net_bucket_set(&b->down, l->down_bytes_s, l->down_bytes_s / 5 + LEAST_BYTES, now);
        net_bucket_set(&b->connects, l->connections_s, 2ull * l->connections_s, now);
        net_bucket_set(&b->queries, l->dns_s, 4ull * l->dns_s, now);
        b->is_over_quota = l->total_bytes > 0 && used(b) >= l->total_bytes;
}

static int option_of(int fd, int option)
{
        int value = -1;
        socklen_t len = sizeof(value);

        return getsockopt(fd, SOL_SOCKET, option, &value, &len) == 0 ? value : -1;
}

static bool is_socket(int fd, int type, int protocol, int listens)
{
        int domain = option_of(fd, SO_DOMAIN);

        return (domain == AF_INET || domain == AF_INET6) && option_of(fd, SO_TYPE) == type &&
               option_of(fd, SO_PROTOCOL) == protocol && option_of(fd, SO_ACCEPTCONN) == listens &&
               fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
}

static int watch_sockets(struct net_box *b, const int fds[NET_FD_DIALS], struct cay_error *err)
{
        int r;

        if (!is_socket(fds[NET_FD_TCP], SOCK_STREAM, IPPROTO_TCP, 1) ||
            !is_socket(fds[NET_FD_DNS_UDP], SOCK_DGRAM, IPPROTO_UDP, 0) ||
            !is_socket(fds[NET_FD_DNS_TCP], SOCK_STREAM, IPPROTO_TCP, 1) ||
            !is_socket(fds[NET_FD_UDP], SOCK_DGRAM, IPPROTO_UDP, 0) ||
            !is_socket(fds[NET_FD_RAW4], SOCK_RAW, IPPROTO_RAW, 0) ||
            !is_socket(fds[NET_FD_RAW6], SOCK_RAW, IPPROTO_RAW, 0) ||
            option_of(fds[NET_FD_REFUSED], SO_DOMAIN) != AF_NETLINK)
                return cay_fail(err, CAY_INVALID, "sandbox '%s': not the sockets of its network", b->id);
        net_conn_set_up_listener(fds[NET_FD_TCP]);
        r = cay_watch_add(b->world->loop, &b->tcp, fds[NET_FD_TCP], EPOLLIN, on_tcp);
        if (r == 0)
                r = cay_watch_add(b->world->loop, &b->dns_udp, fds[NET_FD_DNS_UDP], EPOLLIN, net_stub_on_udp);
        if (r == 0)
                r = cay_watch_add(b->world->loop, &b->dns_tcp, fds[NET_FD_DNS_TCP], EPOLLIN, net_stub_on_tcp);
        if (r == 0)
                r = cay_watch_add(b->world->loop, &b->udp, fds[NET_FD_UDP], EPOLLIN, net_flow_on_datagram);
        if (r == 0)
                r = cay_watch_add(b->world->loop, &b->refused, fds[NET_FD_REFUSED], EPOLLIN, on_refused);
        return r < 0 ? cay_fail_sys(err, CAY_INTERNAL, r, "watch the sockets of sandbox '%s'", b->id) : 0;
}

bool net_box_is_stream(int fd)
{
        return option_of(fd, SO_DOMAIN) == AF_UNIX && option_of(fd, SO_TYPE) == SOCK_STREAM &&
               fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
}

struct net_box *net_box_new_take(struct net_world *world, const struct net_box_request *req, const int *fds,
                                 unsigned count, struct cay_policy_pair *policy, struct cay_error *err)
{
        struct net_box *b = calloc(1, sizeof(*b));
        const struct cay_watch *const watches[NET_FD_DIALS] = {
                [NET_FD_TCP] = b ? &b->tcp : NULL,         [NET_FD_DNS_UDP] = b ? &b->dns_udp : NULL,
                [NET_FD_DNS_TCP] = b ? &b->dns_tcp : NULL, [NET_FD_UDP] = b ? &b->udp : NULL,
                [NET_FD_REFUSED] = b ? &b->refused : NULL,
        };
        bool is_good = false;

        if (b)
                b->names = cay_names_new();
        if (!b || !b->names) {
                cay_fail(err, CAY_INTERNAL, "no memory for the network of sandbox '%s'", req->id);
        } else {
                b->world = world;
                b->raw4 = b->raw6 = -1;
                cay_str_copy(b->id, sizeof(b->id), req->id);
                b->stats.up_bytes = req->up_bytes;
                b->stats.down_bytes = req->down_bytes;
                net_log_init(&b->log, req->log_next);
                b->log_told = b->log.next;
                set_limits(b, &req->limits);
                is_good = count == 0 ||
                          (watch_sockets(b, fds, err) == 0 &&
                           net_member_join_take(b, fds + NET_FD_DIALS, count - NET_FD_DIALS, err) == 0);
        }
        if (is_good) {
                b->policy = *policy;
                if (count > 0) {
                        b->raw4 = fds[NET_FD_RAW4];
                        b->raw6 = fds[NET_FD_RAW6];
                }
                *policy = (struct cay_policy_pair){ 0 };
                return b;
        }
        for (unsigned i = 0; i < NET_FD_DIALS && i < count; i++)
                if (!watches[i] || !watches[i]->loop)
                        close(fds[i]);
        for (unsigned i = NET_FD_DIALS; i < count && (!b || b->dial_count == 0); i++)
                close(fds[i]);
        cay_policy_pair_done(policy);
        net_box_free(b);
        return NULL;
}

void net_box_change_take(struct net_box *b, const struct net_limits *limits, struct cay_policy_pair *policy)
{
        struct net_conn *next;

        if (memcmp(&b->policy.member, &policy->member, sizeof(policy->member)) != 0)
                net_member_end_guests(b, "the other sandbox is in another private network now");
        cay_policy_pair_done(&b->policy);
        b->policy = *policy;
        *policy = (struct cay_policy_pair){ 0 };
        set_limits(b, limits);
        if (b->is_over_quota)
                end_all(b, "quota");
        for (struct net_conn *c = b->conns; c; c = next) {
                next = net_conn_next(c);
                net_conn_judge_again(c);
        }
        net_flow_judge_again(b);
}

static void free_later(struct cay_deferred *d)
{
        free(cay_container_of(d, struct net_box, gone));
}

void net_box_free(struct net_box *b)
{
        if (!b)
                return;
        b->is_over_quota = true; /* nothing begins any more */
        unwatch(&b->tcp);
        unwatch(&b->dns_udp);
        unwatch(&b->dns_tcp);
        unwatch(&b->udp);
        unwatch(&b->refused);
        net_stub_end(b);
        if (b->world)
                net_member_leave(b);
        end_all(b, "the sandbox's network was removed");
        net_edge_forget(b);
        cay_timer_clear(&b->accept_again);
        cay_timer_clear(&b->go_on);
        cay_names_free(b->names);
        net_log_done(&b->log);
        cay_policy_pair_done(&b->policy);
        if (!b->world) {
                free(b);
                return;
        }
        if (b->raw4 >= 0)
                close(b->raw4);
        if (b->raw6 >= 0)
                close(b->raw6);
        b->gone.run = free_later;
        cay_loop_defer(b->world->loop, &b->gone);
}
