/* SPDX-License-Identifier: Apache-2.0 */
/* The mounts below a mount of our own namespace, read from /proc/self/mountinfo. 0 or more, or -errno. */
#pragma once

/* The number of the mount that fd is on. (statx has it too, but only since Linux 5.8.) */
int sys_mount_id(int fd);
/*
 * Calls back with the root of every mount below the one that root_fd is on, at any depth, in no particular
 * order. Stops at the first negative result and returns it. Mounts covered by another are skipped: they are
 * unreachable. -EAGAIN: a mount was not where the table said, so mounts are changing meanwhile; -E2BIG: too
 * many mounts.
 */
int sys_mounts_below(int root_fd, int (*each)(int fd, void *ctx), void *ctx);
