/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-net/member.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>

#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cay-net/conn.h"
#include "foundation/base/clock.h"
#include "foundation/base/str.h"
#include "foundation/sys/net_divert.h"

#define DRAIN_LOOK_MS 50u

/* Names */

static bool is_member(const struct net_box *b)
{
        return b->policy.member.network[0] != '\0';
}

static bool are_together(const struct net_box *a, const struct net_box *b)
{
        return is_member(a) && strcmp(a->policy.member.owner, b->policy.member.owner) == 0 &&
               strcmp(a->policy.member.network, b->policy.member.network) == 0;
}

bool net_member_is_name(const struct net_box *b, const char *name)
{
        char end[CAY_POLICY_NAME_MAX + 1];
        size_t len = strlen(name), end_len;

        if (!is_member(b))
                return false;
        snprintf(end, sizeof(end), ".%s." CAY_POLICY_PRIVATE, b->policy.member.network);
        end_len = strlen(end);
        return len > end_len && strcmp(name + len - end_len, end) == 0;
}

/* What a sandbox is called: by its name in the network, and by its id. "": it has none of its own. */
static const char *name_of(const struct net_box *m, const char *host, char ret[CAY_POLICY_NAME_MAX + 1])
{
        ret[0] = '\0';
        if (host[0] != '\0')
                snprintf(ret, CAY_POLICY_NAME_MAX + 1, "%s.%s." CAY_POLICY_PRIVATE, host,
                         m->policy.member.network);
        return ret;
}

static bool is_called(const struct net_box *m, const char *name)
{
        char own[CAY_POLICY_NAME_MAX + 1];

        return strcmp(name, name_of(m, m->policy.member.host, own)) == 0 ||
               strcmp(name, name_of(m, m->id, own)) == 0;
}

bool net_member_is_denied(const struct net_box *b, const struct net_box *m, uint16_t port)
{
        char by_host[CAY_POLICY_NAME_MAX + 1], by_id[CAY_POLICY_NAME_MAX + 1];
        struct cay_policy_target t = { .name = name_of(m, m->policy.member.host, by_host), .port = port };
        bool is_denied = cay_policy_pair_denies(&b->policy, &t);

        t.name = name_of(m, m->id, by_id);
        return is_denied || cay_policy_pair_denies(&b->policy, &t);
}

struct net_box *net_member_find(const struct net_box *b, const char *name, const char **ret_why)
{
        struct net_box *found = NULL;
        const char *why = "no sandbox of that name is in the private network";

        if (!net_member_is_name(b, name))
                return NULL;
        for (struct net_box *m = b->world->members; m; m = m->next_member) {
                if (!are_together(m, b) || !is_called(m, name))
                        continue;
                if (found) {
                        found = NULL;
                        why = "more than one sandbox in the private network has that name";
                        break;
                }
                found = m;
        }
        if (ret_why)
                *ret_why = why;
        return found;
}

/* Dials */

static bool is_drained(const struct net_dial *d)
{
        struct tcp_info info = { 0 };
        socklen_t len = sizeof(info);

        return getsockopt(d->fd, IPPROTO_TCP, TCP_INFO, &info, &len) < 0 ||
               (info.tcpi_unacked == 0 && info.tcpi_notsent_bytes == 0);
}

static void disconnect(struct net_dial *d)
{
        const struct sockaddr nobody = { .sa_family = AF_UNSPEC };

        connect(d->fd, &nobody, sizeof(nobody));
        d->state = NET_DIAL_FREE;
        d->user = NULL;
}

static void look_at_drains(struct net_box *b);

static void on_drain(struct cay_timer *t)
{
        look_at_drains(cay_container_of(t, struct net_box, drain));
}

static void look_at_drains(struct net_box *b)
{
        bool waits = false;

        for (unsigned i = 0; i < b->dial_count; i++) {
                struct net_dial *d = &b->dials[i];

                if (d->state != NET_DIAL_DRAINING)
                        continue;
                if (is_drained(d) || cay_clock_ms() - d->since_ms > NET_DIAL_DRAIN_MS)
                        disconnect(d);
                else
                        waits = true;
        }
        if (waits && !b->drain.loop)
                cay_timer_set(b->world->loop, &b->drain, DRAIN_LOOK_MS, on_drain);
}

void net_member_give_back(struct net_dial *d, bool resets)
{
        d->user = NULL;
        if (resets) {
                disconnect(d);
                return;
        }
        d->state = NET_DIAL_DRAINING;
        d->since_ms = cay_clock_ms();
        look_at_drains(d->box);
}

static int start_connect(const struct net_dial *d, uint16_t port)
{
        struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port) };

        inet_pton(AF_INET, SYS_DIVERT_OWN_V4, &to.sin_addr);
        return connect(d->fd, (struct sockaddr *)&to, sizeof(to)) == 0 || errno == EINPROGRESS ? 0 : errno;
}

struct net_dial *net_member_dial(struct net_box *target, struct net_conn *user, uint16_t port, int *ret_errno)
{
        *ret_errno = 0;
        for (unsigned i = 0; i < target->dial_count; i++) {
                struct net_dial *d = &target->dials[i];

                if (d->state != NET_DIAL_FREE)
                        continue;
                *ret_errno = start_connect(d, port);
                if (*ret_errno != 0) {
                        disconnect(d);
                        return NULL;
                }
                d->state = NET_DIAL_USED;
                d->user = user;
                return d;
        }
        return NULL;
}

/* Joining and leaving */

static bool is_dial(int fd)
{
        int domain = 0, type = 0, listens = 1;
        socklen_t len = sizeof(int);

        return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len) == 0 && domain == AF_INET &&
               getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_STREAM &&
               getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 && listens == 0 &&
               fcntl(fd, F_SETFL, O_NONBLOCK) == 0;
}

int net_member_join_take(struct net_box *b, const int *fds, unsigned count, struct cay_error *err)
{
        bool are_good = true;

        for (unsigned i = 0; i < count; i++) {
                are_good &= is_dial(fds[i]);
                b->dials[i] = (struct net_dial){ .fd = fds[i], .box = b };
        }
        b->dial_count = count;
        b->next_member = b->world->members;
        b->world->members = b;
        return are_good ? 0
                        : cay_fail(err, CAY_INVALID, "sandbox '%s': not the sockets of its network", b->id);
}

void net_member_end_guests(struct net_box *b, const char *why)
{
        for (unsigned i = 0; i < b->dial_count; i++)
                if (b->dials[i].state == NET_DIAL_USED)
                        net_conn_end(b->dials[i].user, NET_LOG_REFUSED, why);
}

void net_member_leave(struct net_box *b)
{
        struct net_box **at = &b->world->members;

        net_member_end_guests(b, "the network of the other sandbox was removed");
        cay_timer_clear(&b->drain);
        while (*at && *at != b)
                at = &(*at)->next_member;
        if (*at)
                *at = b->next_member;
        for (unsigned i = 0; i < b->dial_count; i++)
                close(b->dials[i].fd);
        b->dial_count = 0;
}
