/* SPDX-License-Identifier: Apache-2.0 */
/* Peers of unix sockets. */
#include "foundation/sys/peer.h"

#include <errno.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "foundation/base/cleanup.h"

#define GET_PEER_GROUPS 59     /* SO_PEERGROUPS, which older headers lack */
#define GET_SOCKET_FILE 0x89e0 /* SIOCUNIXFILE, likewise */

static int get_int(int sock, int name)
{
        int value = 0;
        socklen_t len = sizeof(value);

        return getsockopt(sock, SOL_SOCKET, name, &value, &len) < 0 ? -errno : value;
}

int sys_peer_get(int sock, struct sys_peer *ret)
{
        struct pollfd p = { .fd = sock, .events = 0 };
        struct ucred cred = { .pid = 0, .uid = (uid_t)-1, .gid = (gid_t)-1 };
        socklen_t len = sizeof(cred);
        int domain = get_int(sock, SO_DOMAIN);

        if (domain < 0)
                return domain;
        if (domain != AF_UNIX || get_int(sock, SO_TYPE) != SOCK_STREAM)
                return -EPROTOTYPE;
        if (get_int(sock, SO_ACCEPTCONN) != 0 || poll(&p, 1, 0) < 0 || p.revents & (POLLHUP | POLLNVAL))
                return -ENOTCONN;
        if (getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0)
                return -errno;
        if (cred.pid == 0 || cred.uid == (uid_t)-1 || cred.gid == (gid_t)-1)
                return -ENOTCONN;
        ret->pid = cred.pid;
        ret->uid = cred.uid;
        ret->gid = cred.gid;
        ret->group_count = 0;
        len = sizeof(ret->groups);
        if (getsockopt(sock, SOL_SOCKET, GET_PEER_GROUPS, ret->groups, &len) == 0)
                ret->group_count = (unsigned)(len / sizeof(ret->groups[0]));
        return 0;
}

bool sys_peer_has_group(const struct sys_peer *peer, gid_t gid)
{
        for (unsigned i = 0; i < peer->group_count; i++)
                if (peer->groups[i] == gid)
                        return true;
        return peer->gid == gid;
}

int sys_socket_file(int sock, struct stat *ret)
{
        cay_auto_close int fd = ioctl(sock, GET_SOCKET_FILE);

        if (fd < 0)
                return errno == ENOTTY || errno == EINVAL ? -EOPNOTSUPP : -errno;
        return fstat(fd, ret) < 0 ? -errno : 0;
}
