/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is at the other end of a connection over a unix socket, as the kernel says: for a process that is handed such a connection by
 * somebody it does not trust. 0 or -errno.
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
        unsigned
                group_count; /* supplementary ones; 0 where there are more than fit, or the kernel cannot tell */
        gid_t groups[SYS_PEER_GROUPS];
};

/*
 * -ENOTSOCK, -EPROTOTYPE: no stream over a unix socket; -ENOTCONN: nobody is at its other end (it listens, or the peer has closed).
 * A pair made by socketpair has a peer too, its maker: where it comes from is sys_socket_file's question.
 */
int sys_peer_get(int sock, struct sys_peer *ret);
bool sys_peer_has_group(const struct sys_peer *peer, gid_t gid);
/*
 * The file that a socket is bound to, which a connection has in common with the listening socket it was accepted from, and which no
 * name can be made to look like. -ENOENT: none; -EPERM: needs CAP_NET_ADMIN; -EOPNOTSUPP: before Linux 4.13.
 */
int sys_socket_file(int sock, struct stat *ret);
