/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identity of the other end of a unix socket connection, as the kernel reports it. For a process that
 * receives such a connection from an untrusted sender. 0 or -errno.
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#define SYS_PEER_GROUPS 256u

struct sys_peer {
        pid_t pid; /* when it connected, likewise below */
        uid_t uid;
        gid_t gid;
        /* supplementary ones; 0 where there are more than fit, or the kernel cannot tell */
        unsigned group_count;
        gid_t groups[SYS_PEER_GROUPS];
};

/*
 * -ENOTSOCK, -EPROTOTYPE: not a unix stream socket; -ENOTCONN: there is no peer (it listens, or the peer has
 * closed). A socketpair also has a peer, the process that made it; use sys_socket_file to learn where a
 * connection comes from.
 */
int sys_peer_get(int sock, struct sys_peer *ret);
bool sys_peer_has_group(const struct sys_peer *peer, gid_t gid);
/*
 * The file that a socket is bound to. A connection has it in common with the listening socket that accepted
 * it, and it cannot be forged by a name. -ENOENT: none; -EPERM: needs CAP_NET_ADMIN; -EOPNOTSUPP: before
 * Linux 4.13.
 */
int sys_socket_file(int sock, struct stat *ret);
