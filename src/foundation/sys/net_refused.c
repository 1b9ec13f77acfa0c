/* SPDX-License-Identifier: Apache-2.0 */
#include "foundation/sys/net_refused.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foundation/sys/netlink.h"

#define HEADERS 64u /* bytes of a packet that are told: of IPv6, and the beginning of TCP's */
#define MESSAGE_MAX 2048u
#define READS_MAX 256u /* that are of no interest, in a row */

enum { V4_HEADER = 20, V6_HEADER = 40, TCP_PART = 14, TCP_FLAGS = 13, SYN_ACK = 0x12, SYN = 0x02 };

/* 0, or -errno: then nothing is told. */
static int bind_group(struct sys_netlink *n)
{
        const struct nfgenmsg info = { .nfgen_family = AF_UNSPEC,
                                       .version = NFNETLINK_V0,
                                       .res_id = htons(SYS_REFUSED_GROUP) };
        const struct nfulnl_msg_config_cmd command = { .command = NFULNL_CFG_CMD_BIND };
        const struct nfulnl_msg_config_mode mode = { .copy_range = htonl(HEADERS),
                                                     .copy_mode = NFULNL_COPY_PACKET };

        sys_netlink_begin(n, NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_CONFIG, 0, true, &info, sizeof(info));
        sys_netlink_put(n, NFULA_CFG_CMD, &command, sizeof(command));
        sys_netlink_put(n, NFULA_CFG_MODE, &mode, sizeof(mode));
        sys_netlink_put_u32_big(n, NFULA_CFG_QTHRESH, 1); /* each one at once */
        sys_netlink_end(n);
        return sys_netlink_send(n);
}

int sys_refused_open(void)
{
        struct sys_netlink n;
        int r = sys_netlink_open(&n, NETLINK_NETFILTER);

        if (r < 0) /* no netfilter at all */
                r = sys_netlink_open(&n, NETLINK_ROUTE);
        else
                bind_group(&n);
        if (r < 0)
                return r;
        if (fcntl(n.fd, F_SETFL, O_NONBLOCK) < 0) {
                r = -errno;
                sys_netlink_close(&n);
                return r;
        }
        return n.fd;
}

/* Bytes are copied out: nothing here is aligned. */
static bool read_packet(const uint8_t *p, size_t len, struct sys_refused *ret)
{
        static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };
        bool is_v6 = len > 0 && p[0] >> 4 == 6;
        size_t tcp = is_v6 ? V6_HEADER : len > 0 ? (p[0] & 15) * 4u : 0;

        if (tcp < V4_HEADER || len < tcp + TCP_PART || (!is_v6 && p[0] >> 4 != 4))
                return false;
        if (p[is_v6 ? 6 : 9] != IPPROTO_TCP || (p[tcp + TCP_FLAGS] & SYN_ACK) != SYN)
                return false;
        if (is_v6) {
                memcpy(ret->address, p + 24, 16);
        } else {
                memcpy(ret->address, mapped, sizeof(mapped));
                memcpy(ret->address + sizeof(mapped), p + 16, 4);
        }
        ret->port = (uint16_t)(p[tcp + 2] << 8 | p[tcp + 3]);
        return true;
}

bool sys_refused_parse(const void *bytes, size_t len, struct sys_refused *ret)
{
        const uint8_t *at = bytes, *end;
        struct nlmsghdr head;
        struct nlattr attribute;

        if (len < NLMSG_HDRLEN + sizeof(struct nfgenmsg))
                return false;
        memcpy(&head, at, sizeof(head));
        if (head.nlmsg_type != (NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_PACKET) || head.nlmsg_len > len)
                return false;
        end = at + head.nlmsg_len;
        at += NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct nfgenmsg));
        while (at < end && (size_t)(end - at) >= sizeof(attribute)) {
                memcpy(&attribute, at, sizeof(attribute));
                if (attribute.nla_len < sizeof(attribute) || attribute.nla_len > end - at)
                        return false;
                if ((attribute.nla_type & NLA_TYPE_MASK) == NFULA_PAYLOAD)
                        return read_packet(at + NLA_HDRLEN, attribute.nla_len - NLA_HDRLEN, ret);
                if (NLA_ALIGN(attribute.nla_len) > end - at)
                        return false;
                at += NLA_ALIGN(attribute.nla_len);
        }
        return false;
}

int sys_refused_read(int fd, struct sys_refused *ret)
{
        _Alignas(struct nlmsghdr) uint8_t bytes[MESSAGE_MAX];

        for (unsigned i = 0; i < READS_MAX; i++) {
                struct sockaddr_nl from = { 0 };
                socklen_t from_len = sizeof(from);
                ssize_t n =
                        recvfrom(fd, bytes, sizeof(bytes), MSG_DONTWAIT, (struct sockaddr *)&from, &from_len);

                if (n < 0 && (errno == ENOBUFS || errno == EINTR)) /* some were lost */
                        continue;
                if (n < 0)
                        return errno == EAGAIN ? 0 : -errno;
                if (from.nl_pid == 0 && sys_refused_parse(bytes, (size_t)n, ret)) /* the kernel's */
                        return 1;
        }
        return 0;
}
