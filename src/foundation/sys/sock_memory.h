/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory held by the sockets of a network namespace: data that was sent and not read yet. Queried from the
 * kernel by sock_diag.
 */
#pragma once

#include <stdint.h>

/* A socket to ask with, in the caller's network namespace: a descriptor or -errno. */
int sys_sock_memory_open(void);
/*
 * Bytes in unix, TCP and UDP sockets of that namespace. 0 or -errno; -ENOENT: this kernel does not report one
 * of these kinds, *ret has the others. Never waits.
 */
int sys_sock_memory_sum(int fd, uint64_t *ret);
