/* SPDX-License-Identifier: Apache-2.0 */
/* Children that answer or are killed. */
#include "cay/doctor/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "foundation/base/cleanup.h"
#include "foundation/base/clock.h"
#include "foundation/sys/fd.h"

static void answer(cay_doctor_probe_fn *fn, const void *arg, void *ret, size_t size, int fd)
{
        int result;

        prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        signal(SIGPIPE, SIG_IGN);
        result = fn(arg, ret);
        /* One write each: a pipe holds both, so no half is read. */
        if (sys_write_all(fd, ret, size) == 0)
                sys_write_all(fd, &result, sizeof(result));
        _exit(0);
}

/*
 * Reads all or nothing; 0, or -errno. If the deadline has passed but the answer is there, the answer counts.
 */
static int read_until(int fd, void *to, size_t size, uint64_t end_ns)
{
        char *at = to;

        while (size > 0) {
                struct pollfd p = { .fd = fd, .events = POLLIN };
                uint64_t now = cay_clock_ns();
                int ready = poll(&p, 1, now < end_ns ? (int)((end_ns - now) / 1000000) + 1 : 0);
                ssize_t n;

                if (ready == 0)
                        return -ETIMEDOUT;
                if (ready < 0 && errno == EINTR)
                        continue;
                n = read(fd, at, size);
                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return n < 0 ? -errno : -ECHILD;
                at += n;
                size -= (size_t)n;
        }
        return 0;
}

/* Copies the child's answer into `copy` and returns its result. */
static int ask(cay_doctor_probe_fn *fn, const void *arg, void *ret, char *copy, size_t size,
               unsigned deadline_ms)
{
        uint64_t end_ns = cay_clock_ns() + deadline_ms * UINT64_C(1000000);
        int fds[2], result = 0, r;
        pid_t pid;

        if (pipe2(fds, O_CLOEXEC) < 0)
                return -errno;
        pid = fork();
        if (pid == 0)
                answer(fn, arg, ret, size, fds[1]);
        r = pid < 0 ? -errno : 0;
        close(fds[1]);
        if (r == 0)
                r = read_until(fds[0], copy, size, end_ns);
        if (r == 0)
                r = read_until(fds[0], &result, sizeof(result), end_ns);
        close(fds[0]);
        if (pid > 0) {
                kill(pid, SIGKILL);
                waitpid(pid, NULL, 0);
        }
        if (r < 0)
                return r;
        if (size > 0)
                memcpy(ret, copy, size);
        return result;
}

int cay_doctor_probe(cay_doctor_probe_fn *fn, const void *arg, void *ret, size_t size, unsigned deadline_ms)
{
        char *copy = malloc(size > 0 ? size : 1);
        int r = copy == NULL ? -ENOMEM : ask(fn, arg, ret, copy, size, deadline_ms);

        free(copy);
        return r;
}

int cay_doctor_probe_inner(int (*fn)(void))
{
        pid_t pid = fork();
        int status;

        if (pid < 0)
                return -errno;
        if (pid == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
                _exit(-fn());
        }
        if (waitpid(pid, &status, 0) < 0)
                return -errno;
        return WIFEXITED(status) ? -WEXITSTATUS(status) : -ECHILD;
}
