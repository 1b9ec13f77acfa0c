/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and ending every descendant, also those that tried to get away. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engines/process/tree.h"

static void say_up(int fd)
{
        if (write(fd, "x", 1) != 1)
                _exit(1);
}

/* A subreaper in a session of its own, with a child, a grandchild and a daemon below it. */
static pid_t start_tree(void)
{
        int fds[2];
        char byte;
        pid_t pid;

        assert_int_equal(pipe(fds), 0);
        pid = fork();
        if (pid == 0) {
                setsid();
                prctl(PR_SET_CHILD_SUBREAPER, 1);
                if (fork() == 0) {         /* child */
                        if (fork() == 0) { /* grandchild */
                                say_up(fds[1]);
                                for (;;)
                                        pause();
                        }
                        for (;;)
                                pause();
                }
                if (fork() == 0) { /* dies, its child does not */
                        pid_t parent = getpid();

                        if (fork() == 0) {
                                setsid();
                                while (getppid() == parent)
                                        usleep(1000);
                                say_up(fds[1]);
                                for (;;)
                                        pause();
                        }
                        _exit(0);
                }
                for (;;) {
                        wait(NULL);
                        usleep(1000);
                }
        }
        for (unsigned i = 0; i < 2; i++)
                assert_int_equal(read(fds[0], &byte, 1), 1);
        close(fds[0]);
        close(fds[1]);
        return pid;
}

static void finds_and_ends_all_of_them(void **state)
{
        struct cay_tree_sum sum = { 0 };
        pid_t pid = start_tree();

        /* Who dies leaves its child before it is a zombie. */
        for (unsigned i = 0; i < 10000 && sum.alive != 3; i++) {
                assert_int_equal(cay_tree_signal(pid, 0, &sum), 0);
                usleep(2000);
        }
        assert_int_equal(sum.alive, 3);
        assert_int_equal(sum.refused, 0);
        assert_true(sum.memory_bytes > 0);
        kill(pid, SIGSTOP); /* as the engine does: still a subreaper, but starts nothing */
        for (unsigned i = 0; i < 10000 && sum.alive > 0; i++) {
                assert_int_equal(cay_tree_signal(pid, SIGKILL, &sum), 0);
                usleep(2000);
        }
        assert_int_equal(sum.alive, 0);
        assert_int_equal(kill(pid, 0), 0); /* the root itself is left alone */
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static pid_t known;

static bool is_known(void *ctx, pid_t pid)
{
        return pid == known;
}

static void orphans_of_a_dead_root_are_ours(void **state)
{
        unsigned alive = 1, rounds = 0;
        pid_t pid, other, bystander;

        prctl(PR_SET_CHILD_SUBREAPER, 1);
        bystander = fork(); /* a child of our own session is none of the engine's business */
        if (bystander == 0)
                for (;;)
                        pause();
        other = start_tree();
        known = other;
        pid = start_tree();
        kill(pid, SIGKILL);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        while (alive > 0 && rounds++ < 10000) {
                assert_int_equal(cay_tree_end_orphans(is_known, NULL, &alive), 0);
                usleep(2000);
        }
        assert_int_equal(alive, 0);
        assert_int_equal(kill(other, 0), 0);
        assert_int_equal(kill(bystander, 0), 0);
        known = 0;
        for (alive = 1, rounds = 0; alive > 0 && rounds < 10000;
             rounds++) { /* the other tree, now unknown, goes too */
                assert_int_equal(cay_tree_end_orphans(is_known, NULL, &alive), 0);
                usleep(2000);
        }
        assert_int_equal(alive, 0);
        kill(bystander, SIGKILL);
        assert_int_equal(waitpid(bystander, NULL, 0), bystander);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* nobody is left, not even a zombie */
        prctl(PR_SET_CHILD_SUBREAPER, 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(finds_and_ends_all_of_them),
                cmocka_unit_test(orphans_of_a_dead_root_are_ours),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
