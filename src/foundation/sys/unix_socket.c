/* SPDX-License-Identifier: Apache-2.0 */
/* Messages with descriptors over unix sockets. */
#include "foundation/sys/unix_socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

union control {
        struct cmsghdr head;
        char room[CMSG_SPACE(SYS_FDS_MAX * sizeof(int))];
};

ssize_t sys_send_fds(int sock, const void *bytes, size_t len, const int *fds, unsigned fd_count, int flags)
{
        struct iovec iov = { .iov_base = (void *)bytes, .iov_len = len };
        struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
        union control control;
        ssize_t n;

        if (fd_count > SYS_FDS_MAX)
                return -EINVAL;
        if (fd_count > 0) {
                memset(&control, 0, sizeof(control));
                msg.msg_control = &control;
                msg.msg_controllen = CMSG_SPACE(fd_count * sizeof(int));
                control.head.cmsg_level = SOL_SOCKET;
                control.head.cmsg_type = SCM_RIGHTS;
                control.head.cmsg_len = CMSG_LEN(fd_count * sizeof(int));
                memcpy(CMSG_DATA(&control.head), fds, fd_count * sizeof(int));
        }
        do
                n = sendmsg(sock, &msg, flags | MSG_NOSIGNAL);
        while (n < 0 && errno == EINTR);
        return n < 0 ? -errno : n;
}

void sys_close_fds(const int *fds, unsigned count)
{
        for (unsigned i = 0; i < count; i++)
                close(fds[i]);
}

ssize_t sys_recv_fds(int sock, void *bytes, size_t size, int fds[SYS_FDS_MAX], unsigned *ret_count, int flags)
{
        struct iovec iov = { .iov_base = bytes, .iov_len = size };
        union control control;
        struct msghdr msg = {
                .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
        };
        unsigned count = 0;
        ssize_t n;

        do
                n = recvmsg(sock, &msg, flags | MSG_CMSG_CLOEXEC);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
                size_t bytes_len = c->cmsg_len - CMSG_LEN(0);

                if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS || count > 0)
                        continue;
                count = (unsigned)(bytes_len / sizeof(int));
                memcpy(fds, CMSG_DATA(c), count * sizeof(int));
        }
        if (msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
                sys_close_fds(fds, count);
                return -EMSGSIZE;
        }
        *ret_count = count;
        return n;
}

ssize_t sys_recv_sender(int sock, void *bytes, size_t size, pid_t *ret_pid, uid_t *ret_uid, int flags)
{
        union {
                struct cmsghdr head;
                char room[CMSG_SPACE(sizeof(struct ucred))]; /* the kernel puts it before descriptors */
        } control;
        struct iovec iov = { .iov_base = bytes, .iov_len = size };
        struct msghdr msg = {
                .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
        };
        struct ucred sender = { 0 };
        struct cmsghdr *c;
        ssize_t n;

        do
                n = recvmsg(sock, &msg, flags | MSG_CMSG_CLOEXEC);
        while (n < 0 && errno == EINTR);
        if (n < 0)
                return -errno;
        c = CMSG_FIRSTHDR(&msg);
        if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS &&
            c->cmsg_len == CMSG_LEN(sizeof(sender)))
                memcpy(&sender, CMSG_DATA(c), sizeof(sender));
        *ret_pid = sender.pid;
        *ret_uid = sender.uid;
        return n;
}
