/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a child's end. */
#include "foundation/sys/child.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/clock.h"
#include "foundation/sys/syscalls.h"

#define LOOK_MS 5 /* polling interval without a pidfd */

static int reap(pid_t pid, int *ret_status)
{
        pid_t r;

        do
                r = waitpid(pid, ret_status, WNOHANG);
        while (r < 0 && errno == EINTR);
        return r < 0 ? -errno : r > 0;
}

int sys_child_await(pid_t pid, int wait_ms, int *ret_status)
{
        cay_auto_close int pidfd = sys_pidfd_open(pid, 0);
        uint64_t until = cay_clock_ms() + (uint64_t)wait_ms;

        for (;;) {
                struct pollfd p = { .fd = pidfd, .events = POLLIN }; /* -1: poll only waits */
                int r = reap(pid, ret_status);
                uint64_t now = cay_clock_ms();
                int left;

                if (r != 0)
                        return r;
                if (now >= until)
                        return 0;
                left = (int)(until - now);
                poll(&p, 1, pidfd < 0 && left > LOOK_MS ? LOOK_MS : left);
        }
}

int sys_child_status(pid_t pid, int wait_ms)
{
        int status = 0, r = sys_child_await(pid, wait_ms, &status);

        if (r > 0)
                return WIFEXITED(status) ? WEXITSTATUS(status) : -ECHILD;
        if (r < 0)
                return r;
        kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        return -ETIME;
}
