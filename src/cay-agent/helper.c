/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cay-process beside the agent, where the user's rules say that commands run without isolation: it starts them, so that the agent's own
 * filter needs no fork and no exec. It ends when its keeper's socket does.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cay-agent/agent.h"
#include "foundation/base/cleanup.h"
#include "foundation/sys/syscalls.h"
#include "links/helper/helper_message.h"

#define PARK_FD 64 /* above the numbers that the helper expects */

static void become(const char *path, char *programs, int link, int keeper)
{
        char *argv[] = { (char *)"cay-process", programs, NULL }, *env[] = { NULL };
        int parked[2] = { fcntl(link, F_DUPFD, PARK_FD), fcntl(keeper, F_DUPFD, PARK_FD) };

        setsid(); /* Ctrl-C is the agent's to handle */
        if (parked[0] >= 0 && parked[1] >= 0 && dup2(parked[0], HELPER_FRONT_FD) >= 0 &&
            dup2(parked[1], HELPER_KEEPER_FD) >= 0 && sys_close_range(HELPER_KEEPER_FD + 1, ~0u, 0) == 0)
                execve(path, argv, env);
        _exit(127);
}

int agent_helper_start(struct agent_helper *h, const char *programs, int *ret_link, struct cay_error *err)
{
        cay_auto_close int link = -1, keep = -1;
        char path[4096], dir[4096];
        int pair[2];

        snprintf(path, sizeof(path), "%.4000s/cay-process", programs);
        snprintf(dir, sizeof(dir), "%s", programs);
        if (access(path, X_OK) < 0)
                return cay_fail_sys(err, CAY_UNAVAILABLE, -errno, "%s is missing", path);
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make a link to cay-process");
        *ret_link = pair[0];
        link = pair[1];
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
                close(*ret_link);
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make a link to cay-process");
        }
        h->keeper = pair[0];
        keep = pair[1];
        h->pid = fork();
        if (h->pid == 0)
                become(path, dir, link, keep);
        if (h->pid > 0)
                return 0;
        close(*ret_link);
        close(h->keeper);
        return cay_fail_sys(err, CAY_INTERNAL, -errno, "start cay-process");
}

void agent_helper_stop(struct agent_helper *h)
{
        if (h->pid <= 0)
                return;
        close(h->keeper);
        while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
                continue;
        *h = (struct agent_helper){ 0 };
}
