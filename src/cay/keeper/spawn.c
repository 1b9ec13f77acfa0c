/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a child. */
#include "cay/keeper/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "foundation/sys/fd.h"
#include "foundation/sys/syscalls.h"

#define FIRST_FD 3
#define PARK_FD                                                                                              \
        64 /* descriptors are moved above this number first, so that they do not collide with their targets */

/* Test builds pass their switches on; a child's environment has nothing else. */
static void pick_environment(char **ret, unsigned max)
{
        unsigned count = 0;

#ifdef CAY_TEST_HOOKS
        extern char **environ;

        for (char **e = environ; *e && count + 1 < max; e++)
                if (strncmp(*e, "CAY_TEST_", 9) == 0)
                        ret[count++] = *e;
#endif
        (void)max;
        ret[count] = NULL;
}

static int place_descriptors(const struct cay_spawn *s)
{
        int parked[CAY_SPAWN_FDS_MAX];
        int null = open("/dev/null", O_RDONLY);

        if (null < 0 || dup2(null, STDIN_FILENO) < 0)
                return -errno;
        for (unsigned i = 0; i < s->fd_count; i++) {
                parked[i] = fcntl(s->fds[i], F_DUPFD, PARK_FD);
                if (parked[i] < 0)
                        return -errno;
        }
        for (unsigned i = 0; i < s->fd_count; i++)
                if (dup2(parked[i], FIRST_FD + (int)i) < 0)
                        return -errno;
        return sys_close_range(FIRST_FD + s->fd_count, ~0u, 0);
}

/*
 * Best effort. The budgets inside the program are what counts; this limit covers what they miss. Address
 * sanitizers reserve more than any limit, so there is none in their builds.
 */
static void bound_memory(const struct cay_spawn *s)
{
#ifndef __SANITIZE_ADDRESS__
        const struct rlimit data = { .rlim_cur = s->data_max, .rlim_max = s->data_max };

        if (s->data_max > 0)
                setrlimit(RLIMIT_DATA, &data);
#endif
        if (s->goes_first)
                sys_write_file(AT_FDCWD, "/proc/self/oom_score_adj", "1000");
}

static void become(const struct cay_spawn *s, const char *path)
{
        char *env[16];
        int r;

        pick_environment(env, CAY_COUNT(env));
        setsid();
        bound_memory(s);
        signal(SIGPIPE, SIG_DFL);
        sigprocmask(SIG_SETMASK, s->mask, NULL);
        r = place_descriptors(s);
        if (r == 0) {
                execve(path, s->argv, env);
                r = -errno;
        }
        dprintf(STDERR_FILENO, "cay serve: start %s: %s\n", path, strerror(-r));
        _exit(127);
}

pid_t cay_spawn(const struct cay_spawn *s, struct cay_error *err)
{
        char path[PATH_MAX];
        pid_t pid;

        if (s->fd_count > CAY_SPAWN_FDS_MAX ||
            snprintf(path, sizeof(path), "%s/%s", s->dir, s->program) >= (int)sizeof(path))
                return cay_fail(err, CAY_INVALID, "the program folder's path is too long");
        if (access(path, X_OK) < 0)
                return cay_fail_sys(err, CAY_UNAVAILABLE, -errno, "%s is missing", path);
        pid = fork();
        if (pid == 0)
                become(s, path);
        return pid < 0 ? cay_fail_sys(err, CAY_INTERNAL, -errno, "start %s", path) : pid;
}
