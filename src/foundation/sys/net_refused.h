/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernel's own rules of a diverted namespace (net_divert.h) refused: the connections, as the kernel
 * tells them (nfnetlink_log).
 *
 * The socket is bound where the namespace is set up, which needs CAP_NET_ADMIN there, and handed to whoever
 * reads it; reading needs no right, and without the right nothing can be changed through it. The kernel
 * writes a message before the program sees that it was refused. The rules bound how many there are in a
 * second; what the socket has no room for is lost.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SYS_REFUSED_GROUP 1 /* in the namespace's rules */

struct sys_refused {
        uint8_t address[16]; /* IPv4: as ::ffff:a.b.c.d */
        uint16_t port;
};

/* A descriptor, or -errno. Where the kernel cannot tell, it is one that nothing comes by. Non-blocking. */
int sys_refused_open(void);
/* 1: *ret is the next one; 0: there is no more now; -errno: it is over. */
int sys_refused_read(int fd, struct sys_refused *ret);
/* A message of the kernel. False: it is no beginning of a TCP connection. */
bool sys_refused_parse(const void *bytes, size_t len, struct sys_refused *ret);
