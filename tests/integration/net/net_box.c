/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net_box FD MODE: a network namespace as a sandbox has it, for tests of cay-net. Its sockets go over FD; it
 * lives until FD is closed at the other end. Its programs are those of the test, which enters the namespace.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "foundation/sys/net_divert.h"
#include "foundation/sys/unix_socket.h"

int main(int argc, char **argv)
{
        int link = argc > 1 ? atoi(argv[1]) : -1, r;
        unsigned mode = argc > 2 ? (unsigned)atoi(argv[2]) : SYS_DIVERT_ADDRESSES | SYS_DIVERT_UDP;
        int fds[SYS_DIVERT_SOCKETS_MAX];
        struct sys_divert_sockets s;
        char byte;

        if (unshare(CLONE_NEWNET) < 0) {
                perror("net_box: unshare");
                return 77;
        }
        r = sys_divert_set_up(mode, &s);
        if (r < 0) {
                fprintf(stderr, "net_box: no diverted network here: %s\n", strerror(-r));
                return 77;
        }
        if (sys_send_fds(link, "x", 1, fds, sys_divert_list(&s, fds), 0) < 0)
                return 1;
        sys_divert_close(&s);
        return read(link, &byte, 1) == 0 ? 0 : 1;
}
