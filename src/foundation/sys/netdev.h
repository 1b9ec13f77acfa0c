/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a network namespace has carried, as /proc/PID/net/dev says of the one that PID is in. Loopback is counted apart: what is sent there
 * comes in there, so one figure says it. The text is the kernel's; a line that is not of its form is passed over.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

struct sys_netdev {
        uint64_t rx_bytes, tx_bytes; /* all interfaces but loopback */
        uint64_t loopback_bytes;
};

/* Interfaces beyond the first hundred or so are left out. 0 or -errno: it has ended, or there is no /proc. */
int sys_netdev_read(pid_t pid, struct sys_netdev *ret);
void sys_netdev_parse(const char *text, struct sys_netdev *ret);
