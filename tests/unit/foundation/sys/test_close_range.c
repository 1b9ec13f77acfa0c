/* SPDX-License-Identifier: Apache-2.0 */
/* Closing ranges of descriptors: exactly those, however the kernel lets us. */
#include "sys_test.h"

#include <sys/resource.h>

#include "foundation/sys/syscalls.h"
#include "tools/old_kernel.h"

#define LOW 40
#define HIGH 3000 /* sparse up here */

static bool is_open(int fd)
{
        return fcntl(fd, F_GETFD) >= 0;
}

static void open_many(void)
{
        struct rlimit limit;
        int null = open("/dev/null", O_RDONLY);

        check(getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_max > HIGH);
        limit.rlim_cur = limit.rlim_max;
        check(setrlimit(RLIMIT_NOFILE, &limit) == 0);
        check(null >= 0);
        for (int fd = LOW; fd < LOW + 300; fd++) /* more than one reading of the directory tells */
                check(dup2(null, fd) == fd);
        check(dup2(null, HIGH) == HIGH);
}

static void closed(void)
{
        open_many();
        check(sys_close_range(LOW + 5, LOW + 9, 0) == 0);
        for (int fd = LOW; fd < LOW + 15; fd++)
                check(is_open(fd) == (fd < LOW + 5 || fd > LOW + 9));
        check(sys_close_range(LOW + 7, LOW + 7, 0) == 0); /* closed already */
        check(sys_close_range(HIGH + 1, ~0u, 0) == 0);    /* none there */
        check(is_open(HIGH) && is_open(LOW + 299));
        check(sys_close_range(LOW + 20, ~0u, 0) == 0);
        for (int fd = LOW + 20; fd <= HIGH; fd++)
                check(!is_open(fd));
        check(is_open(LOW + 19) && is_open(0) && is_open(1) && is_open(2));
}

/* Descriptors above a limit that was lowered meanwhile are closed as well. */
static void closed_above_limit(void)
{
        struct rlimit low = { 16, 16 };

        open_many();
        for (int fd = 3; fd < 16; fd++) /* not even one more could be opened */
                check(dup2(0, fd) == fd);
        check(setrlimit(RLIMIT_NOFILE, &low) == 0);
        check(sys_close_range(LOW, ~0u, 0) == 0);
        for (int fd = LOW; fd <= HIGH; fd++)
                check(!is_open(fd));
        check(is_open(15));
}

/* Between vfork and exec the memory is the parent's: nothing of it may change. */
static void closed_after_vfork(void)
{
        volatile int marks[2] = { 1, 2 };
        int status;
        pid_t pid;

        open_many();
        pid = vfork();
        if (pid == 0) {
                int r = sys_close_range(3, ~0u, 0);

                _exit(r == 0 && !is_open(LOW) && !is_open(HIGH) ? 0 : 1);
        }
        check(waitpid(pid, &status, 0) == pid && status == 0);
        check(is_open(LOW) && is_open(HIGH) && marks[0] == 1 && marks[1] == 2);
}

static void all(void)
{
        static void (*const parts[])(void) = { closed, closed_above_limit, closed_after_vfork };

        for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
                int status;
                pid_t pid = fork();

                if (pid == 0) {
                        parts[i]();
                        _exit(0);
                }
                check(waitpid(pid, &status, 0) == pid && status == 0);
        }
}

static void all_blocked(void)
{
        check(old_kernel_block("close_range") == 0 && old_kernel_lacks("close_range"));
        check(sys_close_range(50, 60, 4 /* CLOEXEC */) == -ENOSYS); /* not what it falls back to */
        all();
}

static void all_without_proc(void)
{
        enter_mount_namespace();
        check(umount2("/proc", MNT_DETACH) == 0 && access("/proc/self", F_OK) < 0);
        all_blocked();
}

static void test_close(void **state)
{
        in_child(all);
}

static void test_without_call(void **state)
{
        in_child(all_blocked);
}

static void test_without_call_and_proc(void **state)
{
        need_root();
        in_child(all_without_proc);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_close),
                cmocka_unit_test(test_without_call),
                cmocka_unit_test(test_without_call_and_proc),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
