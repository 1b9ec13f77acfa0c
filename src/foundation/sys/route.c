/* SPDX-License-Identifier: Apache-2.0 */
/* One RTM_GETROUTE and its answer, which the kernel writes during the send. */
#include "foundation/sys/route.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stddef.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct question {
        struct nlmsghdr head;
        struct rtmsg route;
        struct rtattr attribute;
        uint8_t address[16];
};

int sys_route_open(void)
{
        int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);

        return fd < 0 ? -errno : fd;
}

static int read_answer(const void *bytes, size_t len, uint32_t seq)
{
        const struct nlmsghdr *head = bytes;
        const struct rtmsg *route = NLMSG_DATA(head);

        if (len < sizeof(*head) || head->nlmsg_len > len || head->nlmsg_seq != seq)
                return -EBADMSG;
        if (head->nlmsg_type == NLMSG_ERROR) {
                const struct nlmsgerr *failed = NLMSG_DATA(head);

                return len < NLMSG_LENGTH(sizeof(*failed)) || failed->error == 0 ? -EBADMSG : failed->error;
        }
        if (head->nlmsg_type != RTM_NEWROUTE || head->nlmsg_len < NLMSG_LENGTH(sizeof(*route)))
                return -EBADMSG;
        return route->rtm_type == RTN_LOCAL || route->rtm_type == RTN_BROADCAST ||
               route->rtm_type == RTN_ANYCAST || route->rtm_type == RTN_MULTICAST;
}

int sys_route_is_local(int fd, const uint8_t *address, unsigned bytes)
{
        static uint32_t seq;
        struct question q = {
                .head = { .nlmsg_type = RTM_GETROUTE, .nlmsg_flags = NLM_F_REQUEST, .nlmsg_seq = ++seq },
                .route = { .rtm_family = bytes == 4 ? AF_INET : AF_INET6,
                           .rtm_dst_len = (uint8_t)(bytes * 8) },
                .attribute = { .rta_type = RTA_DST, .rta_len = (uint16_t)RTA_LENGTH(bytes) },
        };
        _Alignas(struct nlmsghdr) uint8_t answer[2048];
        ssize_t n;

        if (bytes != 4 && bytes != 16)
                return -EINVAL;
        memcpy(q.address, address, bytes);
        q.head.nlmsg_len = (uint32_t)(offsetof(struct question, address) + bytes);
        if (send(fd, &q, q.head.nlmsg_len, MSG_DONTWAIT) < 0)
                return -errno;
        do
                n = recv(fd, answer, sizeof(answer), MSG_DONTWAIT);
        while (n >= (ssize_t)sizeof(struct nlmsghdr) &&
               ((const struct nlmsghdr *)(const void *)answer)->nlmsg_seq !=
                       q.head.nlmsg_seq); /* a late answer to an earlier request */
        return n < 0 ? -errno : read_answer(answer, (size_t)n, q.head.nlmsg_seq);
}
