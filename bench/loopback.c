/* SPDX-License-Identifier: Apache-2.0 */
/* A plain TCP connection over loopback. See loopback.h. */

#include "loopback.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

int loopback_open(int ret_fds[2])
{
        struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
        socklen_t len = sizeof(at);
        int door = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

        ret_fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ret_fds[1] = -1;
        if (door >= 0 && ret_fds[0] >= 0 && bind(door, (struct sockaddr *)&at, len) == 0 &&
            listen(door, 1) == 0 && getsockname(door, (struct sockaddr *)&at, &len) == 0 &&
            connect(ret_fds[0], (struct sockaddr *)&at, len) == 0)
                ret_fds[1] = accept4(door, NULL, NULL, SOCK_CLOEXEC);
        if (door >= 0)
                close(door);
        if (ret_fds[1] >= 0)
                return 0;
        perror("bench: loopback");
        if (ret_fds[0] >= 0)
                close(ret_fds[0]);
        return -1;
}
