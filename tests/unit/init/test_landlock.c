/* SPDX-License-Identifier: Apache-2.0 */
/* The landlock rules, on this machine's own root: ordinary places stay writable, /proc does not. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "init/landlock.h"

#define CHECK(what, is)                                                                                      \
        do {                                                                                                 \
                if (!(is)) {                                                                                 \
                        fprintf(stderr, "%s: errno %d\n", what, errno);                                      \
                        _exit(1);                                                                            \
                }                                                                                            \
        } while (0)

static bool can_open(const char *path, int flags)
{
        int fd = open(path, flags | O_CLOEXEC, 0600);

        if (fd >= 0)
                close(fd);
        return fd >= 0;
}

static void inside(int fd)
{
        CHECK("no_new_privs", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        CHECK("enter", cay_landlock_enter(fd) == 0);
        CHECK("read /etc", can_open("/etc/passwd", O_RDONLY));
        CHECK("read /proc", can_open("/proc/self/status", O_RDONLY));
        CHECK("write /dev/null", can_open("/dev/null", O_WRONLY));
        CHECK("make a file", can_open("/tmp/cay-landlock", O_CREAT | O_WRONLY));
        CHECK("make a directory", mkdir("/tmp/cay-landlock.d", 0700) == 0);
        CHECK("rename between directories", rename("/tmp/cay-landlock", "/tmp/cay-landlock.d/f") == 0);
        CHECK("link between directories", link("/tmp/cay-landlock.d/f", "/tmp/cay-landlock.l") == 0);
        CHECK("truncate", truncate("/tmp/cay-landlock.l", 0) == 0);
        unlink("/tmp/cay-landlock.l");
        unlink("/tmp/cay-landlock.d/f");
        rmdir("/tmp/cay-landlock.d");
        CHECK("no write to /proc", !can_open("/proc/self/comm", O_WRONLY) && errno == EACCES);
        CHECK("no write to /proc/sys", !can_open("/proc/sys/kernel/hostname", O_WRONLY) && errno == EACCES);
        CHECK("nothing new in /dev", !can_open("/dev/cay-landlock", O_CREAT | O_WRONLY) && errno == EACCES);
        CHECK("nothing new in /", mkdir("/cay-landlock", 0700) < 0 && errno == EACCES);
        _exit(0);
}

static void rules_hold(void **state)
{
        int fd = cay_landlock_make(), status = 0;
        pid_t pid;

        if (fd == -ENOSYS || fd == -EOPNOTSUPP) {
                print_message("this kernel has no landlock, or too old a one: skipped\n");
                skip();
        }
        assert_true(fd >= 0);
        pid = fork();
        if (pid == 0)
                inside(fd);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        close(fd);
        assert_int_equal(cay_landlock_enter(-1), -EBADF);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(rules_hold),
        };

        return cmocka_run_group_tests_name("init/landlock", tests, NULL, NULL);
}
