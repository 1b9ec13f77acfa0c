/* SPDX-License-Identifier: Apache-2.0 */
/* Starting cay-init without isolation (links/helper/init_config.h describes its configuration). */
#include "engines/process/init_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "foundation/base/clock.h"
#include "engines/process/own_id.h"
#include "foundation/sys/syscalls.h"
#include "foundation/sys/unix_socket.h"
#include "links/helper/init_config.h"

#define EXE_FD (CAY_INIT_CONTROL_FD + 1) /* descriptor of the program until it is executed */

/* Its own id, its own share of processes. In the child. */
static int take_id(const struct cay_init_how *how)
{
        const struct rlimit processes = { how->pids + 1,
                                          how->pids + 1 }; /* init counts too; within the hard limit */
        int r = how->id != 0 ? cay_own_id_become(how->id) : 0;

        if (r == 0 && how->id != 0 && how->pids > 0 && setrlimit(RLIMIT_NPROC, &processes) < 0)
                r = -errno;
        return r;
}

/* The box's id may not have access to every folder of the program's path: use the descriptor. */
static void execute(const char *path)
{
        char *argv[] = { (char *)"cay-init", NULL }, *envp[] = { NULL };

        execve(path, argv, envp);
        sys_execveat(EXE_FD, "", argv, envp, AT_EMPTY_PATH);
}

/*
 * In the child: only the control socket is inherited and, so that a broken init can report why, standard
 * error.
 */
static void become_init(const struct cay_init_how *how, int control)
{
        int null = open("/dev/null", O_RDWR);
        int exe = open(how->path, O_PATH);
        sigset_t none;

        sigemptyset(&none);
        for (int signo = 1; signo <= SIGRTMAX; signo++)
                signal(signo, SIG_DFL);
        sigprocmask(SIG_SETMASK, &none, NULL);
        setsid();
        if (fchdir(how->cwd) < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(null, STDOUT_FILENO) < 0)
                _exit(127);
        exe = fcntl(exe, F_DUPFD, EXE_FD + 1); /* both out of the way of where they go */
        control = fcntl(control, F_DUPFD, EXE_FD + 1);
        if (dup2(control, CAY_INIT_CONTROL_FD) < 0 || dup3(exe, EXE_FD, O_CLOEXEC) < 0)
                _exit(127);
        sys_close_range(EXE_FD + 1, ~0u, 0);
        if (take_id(how) == 0)
                execute(how->path);
        _exit(127); /* its death is told by what watch_end gives */
}

static int sockets(int type, int *ret_ours, int *ret_theirs, struct cay_error *err)
{
        int pair[2];

        if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, pair) < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "make a socket pair");
        *ret_ours = pair[0];
        *ret_theirs = pair[1];
        return 0;
}

/* Init's first message; it waits in the socket until there is an init. */
static int configure(int control, const struct cay_init_how *how, struct cay_error *err)
{
        long cpus = sysconf(_SC_NPROCESSORS_ONLN);
        struct cay_init_config config = {
                .magic = CAY_INIT_MAGIC,
                .size = sizeof(config),
                .fds = 1u << CAY_INIT_FD_LINK,
                .uid = how->id != 0 ? how->id : geteuid(),
                .gid = how->id != 0 ? how->id : getegid(),
                .cpus = cpus > 0 ? (uint32_t)cpus : 1,
                .test_off = how->test_off,
                .boot_wall_s = cay_clock_wall_ms() / 1000,
        };
        ssize_t n;

        memcpy(config.secret, how->secret, sizeof(config.secret));
        n = sys_send_fds(control, &config, sizeof(config), &how->link, 1, MSG_NOSIGNAL);
        explicit_bzero(config.secret, sizeof(config.secret));
        if (n < 0)
                return cay_fail_sys(err, CAY_INTERNAL, (int)n, "configure cay-init");
        return 0;
}

/*
 * Before Linux 5.3 there are no pidfds. There the end of the control socket is used, since only init has the
 * other side. It comes a moment before init can be reaped: retry if that matters.
 */
static int watch_end(pid_t pid, int control)
{
        int fd = sys_pidfd_open(pid, 0);

        if (fd >= 0)
                return fd;
        fd = fcntl(control, F_DUPFD_CLOEXEC, 0);
        return fd < 0 ? -errno : fd;
}

int cay_init_child_start(struct cay_init_child *c, const struct cay_init_how *how, struct cay_error *err)
{
        cay_auto_close int control = -1, control_theirs = -1;
        int pidfd;
        pid_t pid;

        *c = (struct cay_init_child){ .pidfd = -1, .control = -1 };
        if (sockets(SOCK_SEQPACKET, &control, &control_theirs, err) < 0 || configure(control, how, err) < 0)
                return -1;
        pid = fork();
        if (pid < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "start %s", how->path);
        if (pid == 0)
                become_init(how, control_theirs);
        pidfd = watch_end(pid, control);
        if (pidfd < 0) {
                kill(pid, SIGKILL); /* it has had no command yet: it has no children */
                waitpid(pid, NULL, 0);
                return cay_fail_sys(err, CAY_INTERNAL, pidfd, "watch %s", how->path);
        }
        *c = (struct cay_init_child){ .pid = pid, .pidfd = pidfd, .control = cay_take_fd(control) };
        return 0;
}

int cay_init_child_relink(struct cay_init_child *c, int link, struct cay_error *err)
{
        struct cay_init_relink message = { .magic = CAY_INIT_MAGIC, .size = sizeof(message) };
        ssize_t n =
                sys_send_fds(c->control, &message, sizeof(message), &link, 1, MSG_NOSIGNAL | MSG_DONTWAIT);

        return n < 0 ? cay_fail_sys(err, CAY_UNAVAILABLE, (int)n, "hand over a new link") : 0;
}

void cay_init_child_close(struct cay_init_child *c)
{
        if (c->pidfd >= 0)
                close(cay_take_fd(c->pidfd));
        if (c->control >= 0)
                close(cay_take_fd(c->control));
}
