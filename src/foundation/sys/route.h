/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the kernel would send a packet: whether an address is the host's own. The kernel is queried each
 * time, so a changed interface counts immediately. A list of the interfaces' addresses would miss local
 * routes without one.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

int sys_route_open(void); /* a descriptor, or -errno */
/*
 * 1: packets to it stay on this host (or go to all of a network); 0: they leave; -errno: no answer. bytes: 4
 * or 16.
 */
int sys_route_is_local(int fd, const uint8_t *address, unsigned bytes);
