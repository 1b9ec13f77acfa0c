/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests of kernel wrappers: what needs root says so, and what changes a process for good happens in a
 * child.
 */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define CHILD_SKIPS 77

#define need_root()                                                                                          \
        do {                                                                                                 \
                if (geteuid() != 0) {                                                                        \
                        print_message("skipped: needs root\n");                                              \
                        skip();                                                                              \
                }                                                                                            \
        } while (0)

/* cmocka's asserts jump back into the runner, which a child must not do: it prints and ends. */
#define check(x)                                                                                             \
        do {                                                                                                 \
                if (!(x)) {                                                                                  \
                        fprintf(stderr, "%s:%d: not so: %s (%s)\n", __FILE__, __LINE__, #x,                  \
                                strerror(errno));                                                            \
                        _exit(1);                                                                            \
                }                                                                                            \
        } while (0)

#define skip_child(why)                                                                                      \
        do {                                                                                                 \
                fprintf(stderr, "skipped: %s\n", why);                                                       \
                _exit(CHILD_SKIPS);                                                                          \
        } while (0)

static inline void in_child(void (*run)(void))
{
        int status;
        pid_t pid;

        fflush(NULL);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
                run();
                _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        if (WIFEXITED(status) && WEXITSTATUS(status) == CHILD_SKIPS)
                skip();
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
                fail_msg("the child ended with status 0x%x", (unsigned)status);
}

static inline void enter_mount_namespace(void)
{
        check(unshare(CLONE_NEWNS) == 0);
        check(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
}

static inline unsigned count_fds(void)
{
        DIR *d = opendir("/proc/self/fd");
        unsigned count = 0;

        if (!d)
                return 0;
        while (readdir(d))
                count++;
        closedir(d);
        return count;
}

static inline void nap_ms(long ms)
{
        struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

        nanosleep(&t, NULL);
}

/* A folder of its own in /tmp, for one test. */
static inline void make_folder(char ret[32])
{
        snprintf(ret, 32, "/tmp/cay-unit-XXXXXX");
        assert_non_null(mkdtemp(ret));
}
