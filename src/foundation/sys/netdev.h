/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traffic counters of a network namespace, from /proc/PID/net/dev. Loopback is counted separately: what is
 * sent there is received there, so one figure is enough. Malformed lines are skipped.
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
