/* SPDX-License-Identifier: Apache-2.0 */
/* The mounts below a mount of our own namespace, as /proc/self/mountinfo tells them. 0 or more, or -errno. */
#pragma once

/* The number of the mount that fd is on. (statx tells it too, but only since Linux 5.8.) */
int sys_mount_id(int fd);
/* Calls back with the root of every mount below the one that root_fd is on, at any depth, parents and children in no
   order; stops at the first negative answer and returns it. A mount that is covered by another is left out: nobody
   can reach it. -EAGAIN: one was not where the table said, so mounts are being changed meanwhile; -E2BIG: more mounts
   than we look at. */
int sys_mounts_below(int root_fd, int (*each)(int fd, void *ctx), void *ctx);
