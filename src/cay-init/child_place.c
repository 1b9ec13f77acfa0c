/* SPDX-License-Identifier: Apache-2.0 */
/* Where a child is: its cgroups, its session, its descriptors and its folder. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "cay-init/child_priv.h"
#include "foundation/sys/fd.h"
#include "foundation/sys/syscalls.h"

/*
 * A terminal needs its own session, and without a cgroup the session helps to identify an exec's processes.
 * Elsewhere a process group is enough for signals and costs a tenth (a session also makes a scheduler group).
 * Init's session has no terminal.
 */
int cay_child_start_session(const struct cay_child *c)
{
        if (c->tty || c->kept || !c->init->has_session)
                return setsid() < 0 ? -errno : 0;
        return setpgid(0, 0) < 0 ? -errno : 0;
}

static int last_join(const struct cay_init *init)
{
        int i = CAY_INIT_FD_COUNT - 1;

        while (i > CAY_INIT_FD_JOIN0 && init->fds[i] < 0)
                i--;
        return init->fds[i];
}

/*
 * A preforked process skips the last one: it counts processes, and this one has no command yet. A worker
 * skips it too: it starts no processes, and there are no more workers than channels. Two hundred connections
 * must not use up the commands' processes.
 */
int cay_child_join_cgroups(const struct cay_child *c)
{
        const struct cay_init *init = c->init;
        int r = c->node_fd >= 0 ? sys_write_file(c->node_fd, "cgroup.procs", "0") : 0;

        if (r < 0)
                return r;
        for (int i = CAY_INIT_FD_JOIN0; i < CAY_INIT_FD_COUNT; i++) {
                if (init->fds[i] < 0 || ((c->waits || c->worker) && init->fds[i] == last_join(init)))
                        continue;
                if (write(init->fds[i], "0", 1) < 0)
                        return -errno;
        }
        return 0;
}

int cay_child_join_last(const struct cay_child *c)
{
        if (!c->waits || last_join(c->init) < 0)
                return 0;
        if (write(CAY_CHILD_LAST_JOIN_FD, "0", 1) < 0)
                return -errno;
        close(CAY_CHILD_LAST_JOIN_FD);
        return 0;
}

/*
 * The file belongs to root while we are undumpable. Under init's uid no process in the box can exploit the
 * gap.
 */
void cay_child_be_first_to_go(void)
{
        prctl(PR_SET_DUMPABLE, 1, 0, 0, 0);
        sys_write_file(AT_FDCWD, "/proc/self/oom_score_adj", "1000");
        prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

int cay_child_enter_directory(const struct cay_child *c)
{
        struct cay_view cwd = c->open->exec.cwd;
        char path[CAY_BOX_PATH_MAX];

        if (c->worker)
                return cay_init_is_isolated(c->init) && chdir("/") < 0 ? -errno : 0; /* else: the workspace */
        if (cwd.len == 0) {
                if (!cay_init_is_isolated(c->init) || chdir("/workspace") == 0)
                        return 0;
                return chdir("/") < 0 ? -errno : 0;
        }
        if (cwd.len >= sizeof(path))
                return -ENAMETOOLONG;
        memcpy(path, cwd.ptr, cwd.len);
        path[cwd.len] = 0;
        return chdir(path) < 0 ? -errno : 0;
}

bool cay_child_has_layers(const struct cay_child *c)
{
        return c->worker && c->open->kind == CAY_BOX_CHANGES && c->init->fds[CAY_INIT_FD_CHANGES] >= 0 &&
               c->init->fds[CAY_INIT_FD_BASE] >= 0;
}

static void leak_fds(const struct cay_init *init)
{
        for (int i = 0; i < CAY_INIT_FD_COUNT; i++) {
                if (init->fds[i] > CAY_CHILD_STATUS_FD)
                        fcntl(init->fds[i], F_SETFD, 0);
        }
}

/* Uses higher numbers in between: one of the two may be the other's target. */
static int set_layers(const struct cay_init *init)
{
        int changes = fcntl(init->fds[CAY_INIT_FD_CHANGES], F_DUPFD_CLOEXEC, CAY_CHILD_BASE_FD + 1);
        int base = fcntl(init->fds[CAY_INIT_FD_BASE], F_DUPFD_CLOEXEC, CAY_CHILD_BASE_FD + 1);

        if (changes < 0 || base < 0 || dup3(changes, CAY_CHILD_CHANGES_FD, O_CLOEXEC) < 0 ||
            dup3(base, CAY_CHILD_BASE_FD, O_CLOEXEC) < 0)
                return -errno;
        return 0;
}

/* Inherited by the interpreter, which closes them when it has its command. */
static int set_driver(const struct cay_child *c)
{
        int ask = fcntl(c->ask_fd, F_DUPFD_CLOEXEC, CAY_CHILD_ARCHIVE_FD + 1);
        int archive = fcntl(c->init->warm.archive_fd, F_DUPFD_CLOEXEC, CAY_CHILD_ARCHIVE_FD + 1);

        if (ask < 0 || archive < 0 || dup2(ask, CAY_CHILD_ASK_FD) < 0 ||
            dup2(archive, CAY_CHILD_ARCHIVE_FD) < 0)
                return -errno;
        return 0;
}

int cay_child_set_stdio(const struct cay_child *c)
{
        int last = cay_child_has_layers(c) ? CAY_CHILD_BASE_FD : CAY_CHILD_STATUS_FD, r;

        for (int i = 0; i < 3; i++) {
                if (c->fds[i] >= 0 && dup2(c->fds[i], i) < 0)
                        return -errno;
        }
        if (c->warm) { /* first: the socket may be at the number of the other one */
                int status = fcntl(c->status_fd, F_DUPFD_CLOEXEC, CAY_CHILD_ARCHIVE_FD + 1);

                r = set_driver(c);
                if (r < 0 || status < 0 || dup3(status, CAY_CHILD_STATUS_FD, O_CLOEXEC) < 0)
                        return r < 0 ? r : -errno;
                return sys_close_range(CAY_CHILD_ARCHIVE_FD + 1, ~0U, 0);
        }
        if (dup3(c->status_fd, CAY_CHILD_STATUS_FD, O_CLOEXEC) < 0)
                return -errno;
        if (c->waits && last_join(c->init) >= 0) {
                last = CAY_CHILD_LAST_JOIN_FD;
                if (last_join(c->init) != last && dup3(last_join(c->init), last, O_CLOEXEC) < 0)
                        return -errno;
        }
        r = cay_child_has_layers(c) ? set_layers(c->init) : 0;
        if (r < 0)
                return r;
        if (!cay_init_has_layer(c->init, CAY_LAYER_FDS)) {
                leak_fds(c->init);
                return 0;
        }
        return sys_close_range((unsigned)last + 1, ~0U, 0);
}
