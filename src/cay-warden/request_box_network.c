/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network of a box that is there: other rules, new sockets after whoever had the old ones has died, or a
 * way out for one that was made without.
 *
 * Why it is safe to obey a front that was taken over: a helper enters the box's user and network namespace,
 * so that all it does is done with rights that count there alone; what it does is one of a few fixed sets of
 * rules. It reads nothing that a box can write.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foundation/sys/fd.h"
#include "foundation/sys/net_divert.h"
#include "cay-warden/isolate.h"
#include "cay-warden/warden.h"

#define HELPER_MS 5000 /* netlink of a namespace with nothing else in it: a few milliseconds */

static int open_namespace(pid_t pid, const char *name)
{
        char path[64];

        snprintf(path, sizeof(path), "/proc/%d/ns/%s", (int)pid, name);
        return sys_open_at(AT_FDCWD, path, O_RDONLY, 0);
}

static int change_in_box(pid_t pid, uint32_t mode, bool is_new, int to)
{
        cay_auto_close int user = open_namespace(pid, "user"), net = open_namespace(pid, "net");

        if (user < 0 || net < 0)
                return user < 0 ? user : net;
        if (setns(user, CLONE_NEWUSER) < 0 || setns(net, CLONE_NEWNET) < 0)
                return -errno;
        return is_new ? isolate_set_up_network(mode, to) : isolate_change_network(mode, to);
}

/* A positive result is as good as 0: it has a proxy. */
static _Noreturn void report(int r)
{
        _exit(r < 0 ? -r : 0);
}

/* Its status is the errno, which fits in the byte that a status has. */
static int await_helper(pid_t pid, int pidfd)
{
        struct pollfd p = { .fd = pidfd, .events = POLLIN };
        int status = 0, r;

        do
                r = pidfd >= 0 ? poll(&p, 1, HELPER_MS) : 1;
        while (r < 0 && errno == EINTR);
        if (r <= 0)
                kill(pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
                ;
        if (r <= 0)
                return -ETIMEDOUT;
        return WIFEXITED(status) ? -WEXITSTATUS(status) : -ECANCELED;
}

int warden_box_change_network(struct warden_box *box, uint32_t mode, int to)
{
        struct clone_args args = { .exit_signal = SIGCHLD };
        bool is_new = !(box->plan.flags & WIRE_PLAN_NETWORK);
        cay_auto_close int pidfd = -1;
        pid_t pid;
        int r;

        if (!sys_divert_is_mode(mode) || (is_new && to < 0))
                return -EINVAL;
        pid = sys_clone3(&args);
        if (pid == 0)
                report(change_in_box(box->pid, mode, is_new, to));
        if (pid < 0)
                return (int)pid;
        pidfd = sys_pidfd_open(pid, 0);
        r = await_helper(pid, pidfd);
        if (r == 0)
                box->plan.flags |= WIRE_PLAN_NETWORK;
        return r;
}
