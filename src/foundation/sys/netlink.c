/* SPDX-License-Identifier: Apache-2.0 */
/* Lengths and padding of netlink messages, and the wait for their answers. */
#include "foundation/sys/netlink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "foundation/base/banned.h"

#define ANSWER_MS 10000 /* the kernel answers at once; this only bounds the wait */

int sys_netlink_open(struct sys_netlink *n, int family)
{
        struct sockaddr_nl address = { .nl_family = AF_NETLINK };
        int one = 1;

        memset(n, 0, offsetof(struct sys_netlink, bytes));
        n->fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, family);
        if (n->fd < 0)
                return -errno;
        /*
         * Error answers then do not repeat the request. Older kernels do repeat it: the buffer has room for
         * that.
         */
        setsockopt(n->fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof(one));
        if (bind(n->fd, (struct sockaddr *)&address, sizeof(address)) < 0) {
                int r = -errno;

                sys_netlink_close(n);
                return r;
        }
        n->next_seq = n->first_seq = 1;
        return 0;
}

void sys_netlink_close(struct sys_netlink *n)
{
        if (n->fd >= 0)
                close(n->fd);
        n->fd = -1;
}

/* Room for len bytes and their padding, zeroed; NULL: there is none. */
static void *room(struct sys_netlink *n, size_t len)
{
        size_t padded = NLMSG_ALIGN(len);
        void *at = n->bytes + n->len;

        if (n->is_full || len > SYS_NETLINK_MAX || padded > SYS_NETLINK_MAX - n->len) {
                n->is_full = true;
                return NULL;
        }
        memset(at, 0, padded);
        n->len += padded;
        return at;
}

void sys_netlink_begin(struct sys_netlink *n, uint16_t type, uint16_t flags, bool ack, const void *fixed,
                       size_t len)
{
        struct nlmsghdr *head;
        void *at;

        n->message = n->len;
        head = room(n, sizeof(*head));
        if (head == NULL)
                return;
        head->nlmsg_type = type;
        head->nlmsg_flags = (uint16_t)(NLM_F_REQUEST | flags | (ack ? NLM_F_ACK : 0));
        head->nlmsg_seq = n->next_seq++;
        n->acks += ack;
        at = room(n, len);
        if (at != NULL)
                memcpy(at, fixed, len);
}

void sys_netlink_end(struct sys_netlink *n)
{
        struct nlmsghdr *head = (struct nlmsghdr *)(n->bytes + n->message);

        if (!n->is_full)
                head->nlmsg_len = (uint32_t)(n->len - n->message);
}

void sys_netlink_put_fixed(struct sys_netlink *n, const void *bytes, size_t len)
{
        void *at = room(n, len);

        if (at != NULL)
                memcpy(at, bytes, len);
}

void sys_netlink_put(struct sys_netlink *n, uint16_t attribute, const void *value, size_t len)
{
        struct nlattr *head = room(n, sizeof(*head) + len);

        if (head == NULL)
                return;
        head->nla_type = attribute;
        head->nla_len = (uint16_t)(sizeof(*head) + len);
        memcpy(head + 1, value, len);
}

void sys_netlink_put_text(struct sys_netlink *n, uint16_t attribute, const char *text)
{
        sys_netlink_put(n, attribute, text, strlen(text) + 1);
}

void sys_netlink_put_u8(struct sys_netlink *n, uint16_t attribute, uint8_t value)
{
        sys_netlink_put(n, attribute, &value, sizeof(value));
}

void sys_netlink_put_u32(struct sys_netlink *n, uint16_t attribute, uint32_t value)
{
        sys_netlink_put(n, attribute, &value, sizeof(value));
}

void sys_netlink_put_u32_big(struct sys_netlink *n, uint16_t attribute, uint32_t value)
{
        sys_netlink_put_u32(n, attribute, htonl(value));
}

size_t sys_netlink_nest(struct sys_netlink *n, uint16_t attribute)
{
        size_t at = n->len;
        struct nlattr *head = room(n, sizeof(*head));

        if (head != NULL)
                head->nla_type = (uint16_t)(attribute | NLA_F_NESTED);
        return at;
}

void sys_netlink_nest_end(struct sys_netlink *n, size_t nest)
{
        struct nlattr *head = (struct nlattr *)(n->bytes + nest);

        if (!n->is_full)
                head->nla_len = (uint16_t)(n->len - nest);
}

static int send_all(struct sys_netlink *n)
{
        struct sockaddr_nl kernel = { .nl_family = AF_NETLINK };
        ssize_t r;

        do {
                r = sendto(n->fd, n->bytes, n->len, 0, (struct sockaddr *)&kernel, sizeof(kernel));
        } while (r < 0 && errno == EINTR);
        return r < 0 ? -errno : (size_t)r != n->len ? -EIO : 0;
}

static int await_answer(const struct sys_netlink *n)
{
        struct pollfd ready = { .fd = n->fd, .events = POLLIN };
        int r;

        do {
                r = poll(&ready, 1, ANSWER_MS);
        } while (r < 0 && errno == EINTR);
        return r < 0 ? -errno : r == 0 ? -ETIMEDOUT : 0;
}

/*
 * One datagram of answers: how many acknowledgements were in it; *first gets the first error. Or -errno. They
 * are there when the send has returned, as a rule, so what waits is the exception.
 */
static int read_answers(struct sys_netlink *n, int *first)
{
        const struct nlmsghdr *head = (const struct nlmsghdr *)n->bytes;
        ssize_t left = recv(n->fd, n->bytes, sizeof(n->bytes), MSG_DONTWAIT);
        int count = 0;

        if (left < 0)
                return errno == EAGAIN ? await_answer(n) : errno == EINTR ? 0 : -errno;
        for (; NLMSG_OK(head, (size_t)left); head = NLMSG_NEXT(head, left)) {
                const struct nlmsgerr *error = NLMSG_DATA(head);

                if (head->nlmsg_type != NLMSG_ERROR || head->nlmsg_len < NLMSG_LENGTH(sizeof(*error)) ||
                    head->nlmsg_seq - n->first_seq >= n->next_seq - n->first_seq)
                        continue;
                count++;
                if (error->error < 0 && *first == 0)
                        *first = error->error;
        }
        return count;
}

int sys_netlink_send(struct sys_netlink *n)
{
        unsigned acks = n->acks;
        int r = n->is_full ? -ENOBUFS : n->len > 0 ? send_all(n) : 0, first = 0;

        while (r >= 0 && acks > 0) {
                r = read_answers(n, &first);
                if (r > 0)
                        acks -= (unsigned)r < acks ? (unsigned)r : acks;
                if (first < 0 && first != -ENOBUFS)
                        break; /* a batch that failed may answer some of its requests only */
        }
        n->first_seq = n->next_seq;
        n->acks = 0;
        n->len = n->message = 0;
        n->is_full = false;
        return first < 0 ? first : r < 0 ? r : 0;
}
