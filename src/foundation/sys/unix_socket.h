/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages with descriptors over unix sockets. Return a length or -errno; received descriptors are CLOEXEC.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SYS_FDS_MAX 64

ssize_t sys_send_fds(int sock, const void *bytes, size_t len, const int *fds, unsigned fd_count, int flags);
/*
 * fds has room for SYS_FDS_MAX; *ret_count says how many came. More than that, or a cut message: -EMSGSIZE
 * (all closed).
 */
ssize_t sys_recv_fds(int sock, void *bytes, size_t size, int fds[SYS_FDS_MAX], unsigned *ret_count,
                     int flags);
void sys_close_fds(const int *fds, unsigned count);
/*
 * A message and who sent it: process and user as they are in our namespaces, told by the kernel and not by
 * the sender. 0: not known here. The socket has to have SO_PASSCRED. Descriptors that come with it are
 * dropped.
 */
ssize_t sys_recv_sender(int sock, void *bytes, size_t size, pid_t *ret_pid, uid_t *ret_uid, int flags);
