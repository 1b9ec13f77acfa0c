/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages to the kernel over netlink: a few requests in one buffer, sent together, each acknowledged.
 *
 * Writing does not report errors: an overflow is recorded and sys_netlink_send returns it. The kernel answers
 * every request that asks for it (NLM_F_ACK, set here for all); the first error is the result. Requests
 * before it stay in effect, except in an nf_tables batch, which is atomic.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYS_NETLINK_MAX 16384u

struct sys_netlink { /* zeroed, then sys_netlink_open */
        int fd;
        uint32_t next_seq, first_seq; /* of the requests that wait to be sent */
        unsigned acks;                /* that will come for them */
        bool is_full;
        size_t len, message; /* message: where the one under way begins */
        _Alignas(4) uint8_t bytes[SYS_NETLINK_MAX];
};

int sys_netlink_open(struct sys_netlink *n, int family); /* NETLINK_ROUTE, NETLINK_NETFILTER; 0 or -errno */
void sys_netlink_close(struct sys_netlink *n);

/*
 * One request: its type and flags, then its fixed part, then attributes. A batch's frame is not acknowledged
 * (ack false).
 */
void sys_netlink_begin(struct sys_netlink *n, uint16_t type, uint16_t flags, bool ack, const void *fixed,
                       size_t len);
void sys_netlink_end(struct sys_netlink *n);

void sys_netlink_put_fixed(struct sys_netlink *n, const void *bytes,
                           size_t len); /* a nest's own fixed part */
void sys_netlink_put(struct sys_netlink *n, uint16_t attribute, const void *value, size_t len);
void sys_netlink_put_text(struct sys_netlink *n, uint16_t attribute, const char *text); /* with its NUL */
void sys_netlink_put_u8(struct sys_netlink *n, uint16_t attribute, uint8_t value);
void sys_netlink_put_u32(struct sys_netlink *n, uint16_t attribute,
                         uint32_t value); /* in the machine's order */
void sys_netlink_put_u32_big(struct sys_netlink *n, uint16_t attribute,
                             uint32_t value);                       /* in the network's */
size_t sys_netlink_nest(struct sys_netlink *n, uint16_t attribute); /* for sys_netlink_nest_end */
void sys_netlink_nest_end(struct sys_netlink *n, size_t nest);

/* Sends what was written and waits for every answer; the buffer is empty again. 0 or the first -errno. */
int sys_netlink_send(struct sys_netlink *n);
