/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From fork to exec.
 *
 * Theory of operation. The child starts as a copy of init: init's uid, four capabilities, all signals
 * blocked, undumpable. It applies the layers one by one, in an order in which each is still permitted. First
 * what is the same for every command: cgroups and oom score, landlock, descriptors, the filter. A preforked
 * process (prefork.h) stops here and waits, still under init's uid, inaccessible to the box. Then what the
 * command requests: limits, ids, no capabilities, and the working directory as the user (so that a directory
 * closed to the user stays closed). A waiting interpreter (warm.h) has all of it before its exec. The filter
 * allows all of that, since without capabilities it gains nothing; only setgroups must come before the
 * filter. No code of the sandbox runs before the exec. Until then no process in the box may inspect the
 * child: it is undumpable, except for one write that needs it dumpable, still under init's uid. Every exec
 * uses this path, so what can be set once is set on init itself (cay_child_prepare) and inherited.
 */
#include "cay-init/child.h"

#include <errno.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cay-init/child_priv.h"
#include "cay-init/warm.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/syscalls.h"
#include "foundation/sys/unix_socket.h"

static void note_send(int fd, const struct cay_note *note)
{
        while (send(fd, note, sizeof(*note), MSG_NOSIGNAL) < 0 && errno == EINTR)
                ;
}

_Noreturn static void fail(int status_fd, enum cay_child_step step, int r)
{
        struct cay_note note = { .what = CAY_NOTE_FAILED, .step = (int32_t)step, .sys = -r };

        note_send(status_fd, &note);
        _exit(127);
}

static void must(int status_fd, enum cay_child_step step, int r)
{
        if (r < 0)
                fail(status_fd, step, r);
}

/* What is the same for every command. */
static void get_ready(const struct cay_child *c)
{
        const struct cay_init *init = c->init;

        must(c->status_fd, CAY_STEP_CGROUP, cay_child_join_cgroups(c));
        if (!cay_init_is_isolated(init))
                prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (!(init->config.flags & CAY_INIT_OOM_SET))
                cay_child_be_first_to_go();
        must(c->status_fd, CAY_STEP_IDS, cay_child_drop_groups(init));
        must(c->status_fd, CAY_STEP_LANDLOCK, cay_child_enter_landlock(c));
        must(c->status_fd, CAY_STEP_STDIO, cay_child_set_stdio(c));
        if (cay_init_is_isolated(init) && cay_init_has_layer(init, CAY_LAYER_SECCOMP))
                must(CAY_CHILD_STATUS_FD, CAY_STEP_SECCOMP, cay_child_install_filter(c));
}

/* Init ends this process when there is no command for it; it also ends when init dies. */
static void await_command(struct cay_child *c, struct cay_box_open *open)
{
        static uint8_t asked[CAY_CHILD_ASK_MAX];
        int fds[SYS_FDS_MAX];
        unsigned count = 0;
        ssize_t n;

        do {
                n = sys_recv_fds(CAY_CHILD_STATUS_FD, asked, sizeof(asked), fds, &count, 0);
        } while (n == -EINTR);
        if (n <= 0 || cay_box_open_decode(asked, (size_t)n, open) < 0)
                _exit(127);
        if (count > 0 && dup2(fds[0], 0) < 0)
                fail(CAY_CHILD_STATUS_FD, CAY_STEP_STDIO, -errno);
        sys_close_fds(fds, count);
        c->open = open;
}

_Noreturn static void become(const struct cay_child *how)
{
        const struct cay_init *init = how->init;
        enum cay_child_step step = CAY_STEP_EXEC;
        struct cay_child c = *how;
        struct cay_box_open open;
        int r;

        get_ready(&c);
        if (c.waits)
                await_command(&c, &open);
        must(CAY_CHILD_STATUS_FD, CAY_STEP_CGROUP, cay_child_join_last(&c));
        must(CAY_CHILD_STATUS_FD, CAY_STEP_SESSION, cay_child_start_session(&c));
        if (c.tty)
                must(CAY_CHILD_STATUS_FD, CAY_STEP_TERMINAL, ioctl(0, TIOCSCTTY, 0) < 0 ? -errno : 0);
        if (cay_init_has_layer(init, CAY_LAYER_RLIMITS))
                must(CAY_CHILD_STATUS_FD, CAY_STEP_RLIMITS, cay_child_set_rlimits(&c));
        must(CAY_CHILD_STATUS_FD, CAY_STEP_IDS, cay_child_switch_ids(&c));
        if (cay_init_is_isolated(init))
                must(CAY_CHILD_STATUS_FD, CAY_STEP_CAPS, cay_child_drop_caps(init));
        must(CAY_CHILD_STATUS_FD, CAY_STEP_DIRECTORY, cay_child_enter_directory(&c));
        if (c.worker)
                cay_child_run_worker(&c);
        if (c.warm)
                fail(CAY_CHILD_STATUS_FD, step, cay_warm_exec(&c));
        r = cay_child_run_exec(&c, &step);
        fail(CAY_CHILD_STATUS_FD, step, r);
}

static uint64_t micros(const struct timeval *t)
{
        return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

/* The keeper's main function, see group.h. It holds only the socket. */
_Noreturn static void keep(int status_fd, pid_t main_pid)
{
        struct cay_note note = { .what = CAY_NOTE_STARTED, .pid = main_pid };
        struct rusage used, all = { 0 };
        siginfo_t any;
        int status;
        pid_t pid;

        dup3(status_fd, CAY_CHILD_STATUS_FD, O_CLOEXEC);
        sys_close_range(CAY_CHILD_STATUS_FD + 1, ~0U, 0);
        note_send(CAY_CHILD_STATUS_FD, &note);
        while ((pid = wait4(-1, &status, 0, &used)) > 0 || errno == EINTR) {
                if (pid != main_pid)
                        continue;
                getrusage(RUSAGE_CHILDREN, &all);
                note = (struct cay_note){
                        .what = CAY_NOTE_EXITED,
                        .status = status,
                        .alone = waitid(P_ALL, 0, &any, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD,
                        .user_us = micros(&used.ru_utime),
                        .sys_us = micros(&used.ru_stime),
                        .tree_us = micros(&all.ru_utime) + micros(&all.ru_stime),
                        .most_kib = (uint64_t)all.ru_maxrss,
                };
                note_send(CAY_CHILD_STATUS_FD, &note);
                main_pid = 0;
        }
        _exit(0);
}

_Noreturn void cay_child_run(const struct cay_child *c)
{
        pid_t pid;

        if (!c->kept)
                become(c);
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        if (!cay_init_is_isolated(c->init))
                prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        pid = fork();
        if (pid < 0)
                fail(c->status_fd, CAY_STEP_KEEPER, -errno);
        if (pid == 0)
                become(c);
        keep(c->status_fd, pid);
}
