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
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cay-init/landlock.h"
#include "tools/old_kernel.h"

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
        char file[32], link_to_it[48], folder[48], in_folder[64]; /* our own: another copy of this may run */

        snprintf(file, sizeof(file), "/tmp/cay-landlock-%d", (int)getpid());
        snprintf(link_to_it, sizeof(link_to_it), "%s.l", file);
        snprintf(folder, sizeof(folder), "%s.d", file);
        snprintf(in_folder, sizeof(in_folder), "%s/f", folder);
        CHECK("no_new_privs", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        CHECK("enter", cay_landlock_enter(fd) == 0);
        CHECK("read /etc", can_open("/etc/passwd", O_RDONLY));
        CHECK("read /proc", can_open("/proc/self/status", O_RDONLY));
        CHECK("write /dev/null", can_open("/dev/null", O_WRONLY));
        CHECK("make a file", can_open(file, O_CREAT | O_WRONLY));
        CHECK("make a directory", mkdir(folder, 0700) == 0);
        CHECK("rename between directories", rename(file, in_folder) == 0);
        CHECK("link between directories", link(in_folder, link_to_it) == 0);
        CHECK("truncate", truncate(link_to_it, 0) == 0);
        unlink(link_to_it);
        unlink(in_folder);
        rmdir(folder);
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

static void only_read(int dir)
{
        CHECK("no_new_privs", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
        CHECK("enter", cay_landlock_enter_to_read(&dir, 1) == 0);
        CHECK("read below it", openat(dir, "passwd", O_RDONLY | O_CLOEXEC) >= 0);
        CHECK("no write below it", openat(dir, "passwd", O_WRONLY | O_CLOEXEC) < 0 && errno == EACCES);
        CHECK("no new file", !can_open("/etc/cay-landlock", O_CREAT | O_WRONLY) && errno == EACCES);
        CHECK("nothing elsewhere", !can_open("/proc/self/status", O_RDONLY) && errno == EACCES);
        CHECK("not above it", !can_open("/", O_RDONLY | O_DIRECTORY) && errno == EACCES);
        _exit(0);
}

static void tighter_rules_hold(void **state)
{
        int dir = open("/etc", O_PATH | O_DIRECTORY | O_CLOEXEC), fd = cay_landlock_make(), status = 0;
        pid_t pid;

        if (fd < 0)
                skip();
        close(fd);
        pid = fork();
        if (pid == 0)
                only_read(dir);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
        close(dir);
}

static int real_abi(void)
{
        return (int)syscall(444, NULL, 0, 1 /* VERSION */);
}

static void enter_all(void)
{
        int fd = cay_landlock_make();

        CHECK("make", fd >= 0);
        inside(fd);
}

static void make_none(void)
{
        CHECK("too old", cay_landlock_make() == -EOPNOTSUPP);
}

/* The rules ask for no more than each version knows, and hold with each that is used at all. */
static void every_version(void **state)
{
        if (real_abi() < 2)
                skip();
        assert_int_equal(old_kernel_landlock(1, make_none), 0);
        for (int abi = 2; abi <= real_abi() && abi <= 6; abi++)
                assert_int_equal(old_kernel_landlock(abi, enter_all), 0);
}

static void no_landlock(void **state)
{
        int status = 0;
        pid_t pid = fork();

        if (pid == 0) {
                CHECK("block", old_kernel_block("landlock") == 0);
                CHECK("none", cay_landlock_make() == -ENOSYS);
                _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(rules_hold),
                cmocka_unit_test(tighter_rules_hold),
                cmocka_unit_test(every_version),
                cmocka_unit_test(no_landlock),
        };

        return cmocka_run_group_tests_name("init/landlock", tests, NULL, NULL);
}
