/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Socket memory by sock_diag. A dump of TCP walks the machine's whole table, so each kind is asked for only
 * when /proc/net/sockstat counts sockets of it; that file's counts are the namespace's own.
 */
#include "foundation/sys/sock_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "foundation/sys/fd.h"

#define MESSAGES_MAX 65536u /* of one dump; sockets are bounded by descriptors */

struct request {
        struct nlmsghdr head;
        union {
                struct unix_diag_req unix_req;
                struct inet_diag_req_v2 inet;
        };
};

int sys_sock_memory_open(void)
{
        int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);

        return fd < 0 ? -errno : fd;
}

/* Unread data is charged to the sender of a unix socket, and to the receiver of other sockets. */
static uint64_t sum_of(const uint32_t info[SK_MEMINFO_VARS], bool is_unix)
{
        return (uint64_t)info[SK_MEMINFO_RMEM_ALLOC] +
               info[is_unix ? SK_MEMINFO_WMEM_ALLOC : SK_MEMINFO_WMEM_QUEUED] + info[SK_MEMINFO_FWD_ALLOC] +
               info[SK_MEMINFO_OPTMEM] + info[SK_MEMINFO_BACKLOG];
}

static uint64_t read_socket(const struct nlmsghdr *head, bool is_unix)
{
        size_t skip = is_unix ? sizeof(struct unix_diag_msg) : sizeof(struct inet_diag_msg);
        unsigned wanted = is_unix ? UNIX_DIAG_MEMINFO : INET_DIAG_SKMEMINFO;
        const struct rtattr *attr;
        size_t left;

        if (head->nlmsg_len < NLMSG_LENGTH(skip))
                return 0;
        attr = (const struct rtattr *)((const char *)NLMSG_DATA(head) + NLMSG_ALIGN(skip));
        left = head->nlmsg_len - NLMSG_LENGTH(NLMSG_ALIGN(skip));
        while (left >= sizeof(*attr) && attr->rta_len >= sizeof(*attr) && attr->rta_len <= left) {
                size_t step = RTA_ALIGN(attr->rta_len);
                uint32_t info[SK_MEMINFO_VARS] = { 0 };
                size_t size = attr->rta_len - RTA_LENGTH(0);

                if (attr->rta_type == wanted) {
                        memcpy(info, RTA_DATA(attr), size < sizeof(info) ? size : sizeof(info));
                        return sum_of(info, is_unix);
                }
                if (step >= left)
                        break;
                left -= step;
                attr = (const struct rtattr *)((const char *)attr + step);
        }
        return 0;
}

/* One datagram of a dump. 1: more follow, 0: that was all, or -errno. */
static int read_some(int fd, bool is_unix, uint64_t *sum)
{
        static _Alignas(struct nlmsghdr) char text[32768];
        ssize_t n = recv(fd, text, sizeof(text), MSG_DONTWAIT);
        int len = (int)n;

        if (n < 0)
                return errno == EINTR ? 1 : -errno;
        for (const struct nlmsghdr *head = (const void *)text; NLMSG_OK(head, (unsigned)len);
             head = NLMSG_NEXT(head, len)) {
                if (head->nlmsg_type == NLMSG_DONE)
                        return 0;
                if (head->nlmsg_type == NLMSG_ERROR)
                        return ((const struct nlmsgerr *)NLMSG_DATA(head))->error
                                       ? ((const struct nlmsgerr *)NLMSG_DATA(head))->error
                                       : -EIO;
                *sum += read_socket(head, is_unix);
        }
        return 1;
}

static int dump(int fd, struct request *ask, size_t size, bool is_unix, uint64_t *sum)
{
        int r = 1;

        ask->head.nlmsg_len = (uint32_t)NLMSG_LENGTH(size);
        ask->head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
        ask->head.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
        if (send(fd, ask, ask->head.nlmsg_len, MSG_DONTWAIT) < 0)
                return -errno;
        for (unsigned i = 0; r > 0 && i < MESSAGES_MAX; i++)
                r = read_some(fd, is_unix, sum);
        return r > 0 ? -EMSGSIZE : r;
}

static int dump_unix(int fd, uint64_t *sum)
{
        struct request ask = {
                .unix_req = { .sdiag_family = AF_UNIX, .udiag_states = ~0u, .udiag_show = UDIAG_SHOW_MEMINFO }
        };

        return dump(fd, &ask, sizeof(ask.unix_req), true, sum);
}

static int dump_inet(int fd, int family, int protocol, uint64_t *sum)
{
        struct request ask = { .inet = { .sdiag_family = (uint8_t)family,
                                         .sdiag_protocol = (uint8_t)protocol,
                                         .idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1),
                                         .idiag_states = ~0u } };

        return dump(fd, &ask, sizeof(ask.inet), false, sum);
}

/* "KEY inuse N …" of a sockstat file. */
static bool has_any(const char *text, const char *key)
{
        const char *at = strstr(text, key);

        return at && strtoul(at + strlen(key), NULL, 10) > 0;
}

int sys_sock_memory_sum(int fd, uint64_t *ret)
{
        static const struct {
                const char *file, *key;
                int family, protocol;
        } kinds[] = {
                { "/proc/self/net/sockstat", "TCP: inuse ", AF_INET, IPPROTO_TCP },
                { "/proc/self/net/sockstat", "UDP: inuse ", AF_INET, IPPROTO_UDP },
                { "/proc/self/net/sockstat6", "TCP6: inuse ", AF_INET6, IPPROTO_TCP },
                { "/proc/self/net/sockstat6", "UDP6: inuse ", AF_INET6, IPPROTO_UDP },
        };
        char text[1024];
        int r, one;

        *ret = 0;
        r = dump_unix(fd, ret);
        for (size_t i = 0; i < CAY_COUNT(kinds); i++) {
                if (sys_read_file(AT_FDCWD, kinds[i].file, text, sizeof(text)) <= 0 ||
                    !has_any(text, kinds[i].key))
                        continue;
                one = dump_inet(fd, kinds[i].family, kinds[i].protocol, ret);
                r = r < 0 ? r : one;
        }
        return r;
}
