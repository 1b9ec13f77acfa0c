/* SPDX-License-Identifier: Apache-2.0 */
/* Starting cay-init without isolation (wire/init_config.h says what it is told, and how). */
#include "engine/process/init_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "sys/syscalls.h"
#include "sys/unix_socket.h"
#include "wire/init_config.h"

/* In the child: nothing of ours goes along but the control socket and, so that a broken init can say why, standard error. */
static void become_init(const char *path, int control, int cwd)
{
        char *argv[] = { (char *)"cay-init", NULL }, *envp[] = { NULL };
        int null = open("/dev/null", O_RDWR);
        sigset_t none;

        sigemptyset(&none);
        for (int signo = 1; signo <= SIGRTMAX; signo++)
                signal(signo, SIG_DFL);
        sigprocmask(SIG_SETMASK, &none, NULL);
        setsid();
        if (fchdir(cwd) == 0 && dup2(null, STDIN_FILENO) >= 0 && dup2(null, STDOUT_FILENO) >= 0) {
                if (control == CAY_INIT_CONTROL_FD)
                        fcntl(control, F_SETFD, 0);
                else
                        dup2(control, CAY_INIT_CONTROL_FD);
                sys_close_range(CAY_INIT_CONTROL_FD + 1, ~0u, 0);
                execve(path, argv, envp);
        }
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
static int configure(int control, const uint8_t secret[32], uint32_t test_off, int link,
                     struct cay_error *err)
{
        long cpus = sysconf(_SC_NPROCESSORS_ONLN);
        struct cay_init_config config = {
                .magic = CAY_INIT_MAGIC,
                .size = sizeof(config),
                .fds = 1u << CAY_INIT_FD_LINK,
                .uid = geteuid(),
                .gid = getegid(),
                .cpus = cpus > 0 ? (uint32_t)cpus : 1,
                .test_off = test_off,
                .boot_wall_s = cay_clock_wall_ms() / 1000,
        };
        ssize_t n;

        memcpy(config.secret, secret, sizeof(config.secret));
        n = sys_send_fds(control, &config, sizeof(config), &link, 1, MSG_NOSIGNAL);
        explicit_bzero(config.secret, sizeof(config.secret));
        if (n < 0)
                return cay_fail_sys(err, CAY_INTERNAL, (int)n, "configure cay-init");
        return 0;
}

/* Before Linux 5.3 there are no pidfds; there the end of the control socket tells, since nobody but init has the other side
   (a moment before init can be waited for: who must be sure looks again). */
static int watch_end(pid_t pid, int control)
{
        int fd = sys_pidfd_open(pid, 0);

        if (fd >= 0)
                return fd;
        fd = fcntl(control, F_DUPFD_CLOEXEC, 0);
        return fd < 0 ? -errno : fd;
}

int cay_init_child_start(struct cay_init_child *c, const char *path, int cwd, const uint8_t secret[32],
                         uint32_t test_off, int *ret_link, struct cay_error *err)
{
        cay_auto_close int control = -1, control_theirs = -1, link = -1, link_theirs = -1;
        int pidfd;
        pid_t pid;

        *c = (struct cay_init_child){ .pidfd = -1, .control = -1 };
        if (sockets(SOCK_SEQPACKET, &control, &control_theirs, err) < 0 ||
            sockets(SOCK_STREAM, &link, &link_theirs, err) < 0 ||
            configure(control, secret, test_off, link_theirs, err) < 0)
                return -1;
        pid = fork();
        if (pid < 0)
                return cay_fail_sys(err, CAY_INTERNAL, -errno, "start %s", path);
        if (pid == 0)
                become_init(path, control_theirs, cwd);
        pidfd = watch_end(pid, control);
        if (pidfd < 0) {
                kill(pid, SIGKILL); /* has had no command yet: it is alone */
                waitpid(pid, NULL, 0);
                return cay_fail_sys(err, CAY_INTERNAL, pidfd, "watch %s", path);
        }
        *c = (struct cay_init_child){ .pid = pid, .pidfd = pidfd, .control = cay_take_fd(control) };
        *ret_link = cay_take_fd(link);
        return 0;
}

int cay_init_child_relink(struct cay_init_child *c, int *ret_link, struct cay_error *err)
{
        struct cay_init_relink message = { .magic = CAY_INIT_MAGIC, .size = sizeof(message) };
        cay_auto_close int ours = -1, theirs = -1;
        ssize_t n;

        if (sockets(SOCK_STREAM, &ours, &theirs, err) < 0)
                return -1;
        n = sys_send_fds(c->control, &message, sizeof(message), &theirs, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (n < 0)
                return cay_fail_sys(err, CAY_UNAVAILABLE, (int)n, "hand over a new link");
        *ret_link = cay_take_fd(ours);
        return 0;
}

void cay_init_child_close(struct cay_init_child *c)
{
        if (c->pidfd >= 0)
                close(cay_take_fd(c->pidfd));
        if (c->control >= 0)
                close(cay_take_fd(c->control));
}
