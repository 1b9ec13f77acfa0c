/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for a child: told by a pidfd or by looking, the answers are the same. */
#include "sys_test.h"

#include "foundation/sys/child.h"
#include "tools/old_kernel.h"

#define LONG_MS 60000 /* for what comes at once, on a machine that has something else to do */

static pid_t child_that(int exits_with, bool waits)
{
        pid_t pid;

        fflush(NULL);
        pid = fork();
        check(pid >= 0);
        if (pid == 0) {
                while (waits)
                        pause();
                _exit(exits_with);
        }
        return pid;
}

static void awaited(void)
{
        unsigned before = count_fds();
        int status = -1;
        pid_t pid = child_that(7, false);

        check(sys_child_await(pid, LONG_MS, &status) == 1);
        check(WIFEXITED(status) && WEXITSTATUS(status) == 7);
        check(sys_child_await(pid, LONG_MS, &status) ==
              -ECHILD); /* reaped; and it does not wait for what is not there */
        pid = child_that(0, true);
        check(sys_child_await(pid, 0, &status) == 0);
        check(sys_child_await(pid, 20, &status) == 0);
        check(kill(pid, SIGKILL) == 0);
        check(sys_child_await(pid, LONG_MS, &status) == 1);
        check(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
        check(sys_child_status(child_that(9, false), LONG_MS) == 9);
        pid = child_that(0, true);
        check(sys_child_status(pid, 20) == -ETIME);
        check(waitpid(pid, NULL, WNOHANG) < 0 && errno == ECHILD); /* killed, and reaped */
        pid = child_that(0, true);
        check(kill(pid, SIGKILL) == 0 && sys_child_status(pid, LONG_MS) == -ECHILD);
        check(count_fds() == before);
}

static void awaited_without_pidfd(void)
{
        check(old_kernel_block("pidfd") == 0 && old_kernel_lacks("pidfd"));
        awaited();
}

static void test_await(void **state)
{
        in_child(awaited);
}

static void test_without_pidfd(void **state)
{
        in_child(awaited_without_pidfd);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_await),
                cmocka_unit_test(test_without_pidfd),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
