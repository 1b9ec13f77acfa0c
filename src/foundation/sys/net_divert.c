/* SPDX-License-Identifier: Apache-2.0 */
/* Devices, addresses, routes and sockets; the rules are in net_divert_rules.c. */
#include "foundation/sys/net_divert.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/fib_rules.h>
#include <linux/if.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foundation/sys/net_divert_priv.h"
#include "foundation/sys/net_refused.h"

/* Above the numbers that devices of loaded modules (tunl0, sit0) get in every new namespace. */
#define LO 1
#define DEVICE 1000
#define DEVICE_PEER 1001

#define TABLE 100 /* of routes for what is marked */

/*
 * What the pair carries never leaves this machine's memory: large packets cost less, and a congestion control
 * that paces (bbr, where it is the host's usual one) would only arm timers. reno is part of every kernel, and
 * anybody may choose it.
 */
#define MTU 65535
#define CONGESTION "reno"

/*
 * Connections that wait to be accepted. What a sandbox has sent on them lies in the kernel and is charged to
 * nobody's memory cgroup before they are accepted: the number bounds that. Those beyond it are tried again by
 * the sandbox's own TCP.
 */
#define WAITING 256

static const struct family {
        int family;
        const char *address;
        size_t len;
        unsigned bits;
} families[] = {
        { AF_INET, SYS_DIVERT_OWN_V4, 4, 32 },
        { AF_INET6, SYS_DIVERT_OWN_V6, 16, 128 },
};

static void put_up(struct sys_netlink *n, int device)
{
        const struct ifinfomsg info = { .ifi_index = device, .ifi_flags = IFF_UP, .ifi_change = IFF_UP };

        sys_netlink_begin(n, RTM_NEWLINK, 0, true, &info, sizeof(info));
        sys_netlink_end(n);
}

static void put_pair(struct sys_netlink *n)
{
        const struct ifinfomsg info = { .ifi_index = DEVICE }, peer = { .ifi_index = DEVICE_PEER };
        size_t link, data, other;

        sys_netlink_begin(n, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, true, &info, sizeof(info));
        sys_netlink_put_text(n, IFLA_IFNAME, "eth0");
        sys_netlink_put_u32(n, IFLA_MTU, MTU);
        link = sys_netlink_nest(n, IFLA_LINKINFO);
        sys_netlink_put_text(n, IFLA_INFO_KIND, "veth");
        data = sys_netlink_nest(n, IFLA_INFO_DATA);
        other = sys_netlink_nest(n, VETH_INFO_PEER);
        sys_netlink_put_fixed(n, &peer, sizeof(peer));
        sys_netlink_put_text(n, IFLA_IFNAME, "eth0-peer");
        sys_netlink_put_u32(n, IFLA_MTU, MTU);
        sys_netlink_nest_end(n, other);
        sys_netlink_nest_end(n, data);
        sys_netlink_nest_end(n, link);
        sys_netlink_end(n);
}

static void put_address(struct sys_netlink *n, const struct family *f, const void *bytes, uint32_t device)
{
        const struct ifaddrmsg info = { .ifa_family = (uint8_t)f->family,
                                        .ifa_prefixlen = (uint8_t)f->bits,
                                        .ifa_flags = IFA_F_NODAD,
                                        .ifa_index = device };

        sys_netlink_begin(n, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL, true, &info, sizeof(info));
        sys_netlink_put(n, IFA_LOCAL, bytes, f->len);
        sys_netlink_put(n, IFA_ADDRESS, bytes, f->len);
        sys_netlink_end(n);
}

static void put_route(struct sys_netlink *n, const struct family *f, const void *source, unsigned char type,
                      unsigned char scope, unsigned char table, uint32_t device)
{
        const struct rtmsg info = { .rtm_family = (uint8_t)f->family,
                                    .rtm_table = table,
                                    .rtm_protocol = RTPROT_STATIC,
                                    .rtm_scope = scope,
                                    .rtm_type = type };

        sys_netlink_begin(n, RTM_NEWROUTE, NLM_F_CREATE | NLM_F_EXCL, true, &info, sizeof(info));
        sys_netlink_put_u32(n, RTA_OIF, device);
        if (source != NULL) {
                size_t metrics;

                sys_netlink_put(n, RTA_PREFSRC, source, f->len);
                metrics = sys_netlink_nest(n, RTA_METRICS);
                sys_netlink_put_text(n, RTAX_CC_ALGO, CONGESTION);
                sys_netlink_nest_end(n, metrics);
        }
        sys_netlink_end(n);
}

/*
 * Packets to the namespace's own address stay inside. The kernel adds this route by itself, for IPv6 only
 * when it has noticed that the device is up, which can take a second; until then answers would leave by the
 * default route and be diverted.
 */
static void put_own_route(struct sys_netlink *n, const struct family *f, const void *own)
{
        const struct rtmsg info = { .rtm_family = (uint8_t)f->family,
                                    .rtm_dst_len = (uint8_t)f->bits,
                                    .rtm_table = RT_TABLE_LOCAL,
                                    .rtm_protocol = RTPROT_STATIC,
                                    .rtm_scope = RT_SCOPE_HOST,
                                    .rtm_type = RTN_LOCAL };

        sys_netlink_begin(n, RTM_NEWROUTE, NLM_F_CREATE, true, &info, sizeof(info));
        sys_netlink_put(n, RTA_DST, own, f->len);
        sys_netlink_put_u32(n, RTA_OIF, LO);
        sys_netlink_end(n);
}

static void put_rule(struct sys_netlink *n, const struct family *f)
{
        const struct fib_rule_hdr info = { .family = (uint8_t)f->family,
                                           .table = TABLE,
                                           .action = FR_ACT_TO_TBL };

        sys_netlink_begin(n, RTM_NEWRULE, NLM_F_CREATE | NLM_F_EXCL, true, &info, sizeof(info));
        sys_netlink_put_u32(n, FRA_FWMARK, SYS_DIVERT_MARK);
        sys_netlink_end(n);
}

static void put_family(struct sys_netlink *n, const struct family *f)
{
        uint8_t own[16];

        inet_pton(f->family, f->address, own);
        put_address(n, f, own, DEVICE);
        if (f->family == AF_INET6)
                put_own_route(n, f, own);
        put_route(n, f, own, RTN_UNICAST, RT_SCOPE_LINK, RT_TABLE_MAIN, DEVICE);
        put_rule(n, f);
        put_route(n, f, NULL, RTN_LOCAL, RT_SCOPE_HOST, TABLE, LO);
}

static int set_up_links(bool has_v6)
{
        struct sys_netlink n;
        int r = sys_netlink_open(&n, NETLINK_ROUTE);

        if (r < 0)
                return r;
        put_up(&n, LO);
        put_pair(&n);
        put_up(&n, DEVICE_PEER);
        put_up(&n, DEVICE);
        for (unsigned i = 0; i < (has_v6 ? 2u : 1u); i++)
                put_family(&n, &families[i]);
        r = sys_netlink_send(&n);
        sys_netlink_close(&n);
        return r;
}

/* Loopback, with the namespace's own addresses on it: there is no other device. */
static int set_up_loopback(bool has_v6)
{
        struct sys_netlink n;
        int r = sys_netlink_open(&n, NETLINK_ROUTE);

        if (r < 0)
                return r;
        put_up(&n, LO);
        for (unsigned i = 0; i < (has_v6 ? 2u : 1u); i++) {
                uint8_t own[16];

                inet_pton(families[i].family, families[i].address, own);
                put_address(&n, &families[i], own, LO);
        }
        r = sys_netlink_send(&n);
        sys_netlink_close(&n);
        return r;
}

/* Sockets */

/* Of both families, or of IPv4 alone where there is no other. */
static int open_socket(int type, bool has_v6)
{
        int fd = socket(has_v6 ? AF_INET6 : AF_INET, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), zero = 0,
            one = 1;

        if (fd < 0)
                return -errno;
        if ((has_v6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero)) < 0) ||
            setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0) {
                int r = -errno;

                close(fd);
                return r;
        }
        return fd;
}

static int bind_any(int fd, bool has_v6, uint16_t port)
{
        const struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
        const struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };

        return bind(fd, has_v6 ? (const struct sockaddr *)&v6 : (const struct sockaddr *)&v4,
                    has_v6 ? sizeof(v6) : sizeof(v4));
}

static int open_listener(int type, bool has_v6, bool is_transparent, uint16_t port)
{
        int fd = open_socket(type, has_v6), one = 1, r;

        if (fd < 0)
                return fd;
        if ((is_transparent &&
             setsockopt(fd, has_v6 ? IPPROTO_IPV6 : IPPROTO_IP, has_v6 ? IPV6_TRANSPARENT : IP_TRANSPARENT,
                        &one, sizeof(one)) < 0) ||
            bind_any(fd, has_v6, port) < 0 || (type == SOCK_STREAM && listen(fd, WAITING) < 0)) {
                r = -errno;
                close(fd);
                return r;
        }
        return fd;
}

static bool is_v6_here(void)
{
        int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

        if (fd < 0)
                return false;
        close(fd);
        return access("/proc/sys/net/ipv6", F_OK) == 0 || errno != ENOENT;
}

/*
 * Nobody else can have its port: no SO_REUSEADDR here, with which a program of the namespace could take
 * datagrams.
 */
static int open_datagrams(bool has_v6)
{
        int fd = socket(has_v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), zero = 0,
            one = 1, r;

        if (fd < 0)
                return -errno;
        if ((has_v6 && (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero)) < 0 ||
                        setsockopt(fd, IPPROTO_IPV6, IPV6_TRANSPARENT, &one, sizeof(one)) < 0 ||
                        setsockopt(fd, IPPROTO_IPV6, IPV6_RECVORIGDSTADDR, &one, sizeof(one)) < 0)) ||
            setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &one, sizeof(one)) < 0 ||
            setsockopt(fd, IPPROTO_IP, IP_RECVORIGDSTADDR, &one, sizeof(one)) < 0 ||
            bind_any(fd, has_v6, SYS_DIVERT_PORT) < 0) {
                r = -errno;
                close(fd);
                return r;
        }
        return fd;
}

static int open_raw(int family)
{
        int fd = socket(family, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_RAW); /* headers are given */

        return fd < 0 ? -errno : fd;
}

static int open_sockets(bool has_v6, struct sys_divert_sockets *s)
{
        s->tcp = open_listener(SOCK_STREAM, has_v6, true, SYS_DIVERT_PORT);
        if (s->tcp < 0)
                return s->tcp;
        setsockopt(s->tcp, IPPROTO_TCP, TCP_CONGESTION, CONGESTION, sizeof(CONGESTION) - 1); /* a hint */
        s->dns_udp = open_listener(SOCK_DGRAM, has_v6, false, 53);
        if (s->dns_udp < 0)
                return s->dns_udp;
        s->dns_tcp = open_listener(SOCK_STREAM, has_v6, false, 53);
        if (s->dns_tcp < 0)
                return s->dns_tcp;
        s->udp = open_datagrams(has_v6);
        if (s->udp < 0)
                return s->udp;
        s->raw4 = open_raw(AF_INET);
        if (s->raw4 < 0)
                return s->raw4;
        s->raw6 = open_raw(has_v6 ? AF_INET6 : AF_INET);
        if (s->raw6 < 0)
                return s->raw6;
        s->refused = sys_refused_open();
        return s->refused < 0 ? s->refused : 0;
}

static int open_dials(struct sys_divert_sockets *s)
{
        while (s->dial_count < SYS_DIVERT_DIALS) {
                int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

                if (fd < 0)
                        return -errno;
                s->dials[s->dial_count++] = fd;
        }
        return 0;
}

unsigned sys_divert_list(const struct sys_divert_sockets *s, int ret[SYS_DIVERT_SOCKETS_MAX])
{
        const int all[SYS_DIVERT_SOCKETS] = { s->tcp,  s->dns_udp, s->dns_tcp, s->udp,
                                              s->raw4, s->raw6,    s->refused };

        memcpy(ret, all, sizeof(all));
        memcpy(ret + SYS_DIVERT_SOCKETS, s->dials, s->dial_count * sizeof(int));
        return SYS_DIVERT_SOCKETS + s->dial_count;
}

void sys_divert_close(struct sys_divert_sockets *s)
{
        int all[SYS_DIVERT_SOCKETS_MAX];
        unsigned count = sys_divert_list(s, all);

        for (unsigned i = 0; i < count; i++)
                if (all[i] >= 0)
                        close(all[i]);
        *s = (struct sys_divert_sockets){ -1, -1, -1, -1, -1, -1, -1 };
}

int sys_divert_open(unsigned mode, struct sys_divert_sockets *ret)
{
        struct sys_divert_sockets s = { -1, -1, -1, -1, -1, -1, -1 };
        int r = open_sockets(is_v6_here(), &s);

        if (r == 0 && mode & SYS_DIVERT_DIAL)
                r = open_dials(&s);
        if (r < 0) {
                sys_divert_close(&s);
                return r;
        }
        *ret = s;
        return 0;
}

bool sys_divert_is_mode(unsigned mode)
{
        return mode <= SYS_DIVERT_ALL && (mode & SYS_DIVERT_WHERE) != 0;
}

int sys_divert_set_up(unsigned mode, struct sys_divert_sockets *ret)
{
        int r = sys_divert_put_rules(mode, true); /* first: where they are missing, nothing was made */

        if (r == 0)
                r = set_up_links(is_v6_here());
        return r == 0 ? sys_divert_open(mode, ret) : r;
}

int sys_divert_set_up_plain(unsigned mode, struct sys_divert_sockets *ret)
{
        int r = set_up_loopback(is_v6_here());

        return r == 0 ? sys_divert_open(mode, ret) : r;
}

bool sys_divert_is_lacking(int r)
{
        return r == -EOPNOTSUPP || r == -ENOENT || r == -EPROTONOSUPPORT;
}

int sys_divert_change(unsigned mode)
{
        return sys_divert_put_rules(mode, false);
}
