/* SPDX-License-Identifier: Apache-2.0 */
/* sys_clone3, by clone3 and by clone: the same child, or a refusal that says what is missing. */
#include "sys_test.h"

#include <sys/utsname.h>

#include "foundation/sys/fd.h"
#include "foundation/sys/syscalls.h"
#include "tools/old_kernel.h"

static int end_of(pid_t pid)
{
        int status = -1;

        check(pid > 0);
        check(waitpid(pid, &status, __WALL) == pid);
        return status;
}

static void as_fork(void)
{
        struct clone_args args = { .exit_signal = SIGCHLD };
        volatile int here = 1;
        pid_t parent = getpid(), pid = sys_clone3(&args);

        if (pid == 0) {
                here = 2; /* memory of its own */
                _exit(getppid() == parent && getpid() != parent ? 5 : 1);
        }
        check(WEXITSTATUS(end_of(pid)) == 5 && here == 1);
}

static void in_namespaces(void)
{
        struct clone_args args = { .exit_signal = SIGCHLD,
                                   .flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWUTS };
        pid_t pid = sys_clone3(&args);

        if (pid == -EPERM)
                skip_child("user namespaces are not for us here");
        if (pid == 0) {
                struct utsname name;

                if (getpid() != 1 || sethostname("inside", 6) < 0 || uname(&name) < 0)
                        _exit(1);
                _exit(strcmp(name.nodename, "inside") == 0 ? 6 : 1);
        }
        check(WEXITSTATUS(end_of(pid)) == 6);
}

/*
 * A grandchild that belongs to us, and tells nobody by a signal: how the warden makes the box's first
 * process.
 */
static void for_the_parent(void)
{
        struct clone_args args = { .flags = CLONE_PARENT };
        int pipes[2], helper;
        pid_t pid = 0;

        check(pipe(pipes) == 0);
        helper = fork();
        if (helper == 0) {
                pid = sys_clone3(&args);
                if (pid == 0)
                        _exit(8);
                _exit(write(pipes[1], &pid, sizeof(pid)) == (ssize_t)sizeof(pid) ? 0 : 1);
        }
        check(end_of(helper) == 0);
        check(read(pipes[0], &pid, sizeof(pid)) == (ssize_t)sizeof(pid));
        check(WEXITSTATUS(end_of(pid)) == 8);
}

static void with_pidfd(void)
{
        int pidfd = -1;
        struct clone_args args = { .exit_signal = SIGCHLD, .flags = CLONE_PIDFD, .pidfd = (uintptr_t)&pidfd };
        pid_t pid = sys_clone3(&args);

        if (pid == 0)
                for (;;)
                        pause();
        check(pid > 0 && pidfd >= 0);
        check(sys_pidfd_send_signal(pidfd, SIGTERM) == 0);
        check(WTERMSIG(end_of(pid)) == SIGTERM);
}

static void all(void)
{
        as_fork();
        for_the_parent();
        with_pidfd();
        in_namespaces();
}

static void refusals(void)
{
        static const uint64_t flags[] = { CLONE_INTO_CGROUP, CLONE_INTO_CGROUP | CLONE_NEWUTS, CLONE_NEWTIME,
                                          0x100000000ULL /* CLEAR_SIGHAND */ };

        check(old_kernel_block("clone3") == 0 && old_kernel_lacks("clone3"));
        for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
                struct clone_args args = { .exit_signal = SIGCHLD, .flags = flags[i], .cgroup = 0 };
                pid_t pid = sys_clone3(&args);

                if (pid == 0)
                        _exit(0);
                check(pid == -EOPNOTSUPP);
        }
        all();
}

static void test_clone(void **state)
{
        in_child(all);
}

static void test_without_clone3(void **state)
{
        in_child(refusals);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_clone),
                cmocka_unit_test(test_without_clone3),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
