/* SPDX-License-Identifier: Apache-2.0 */
/* Signals as events: delivery, several at once, the mask before and after. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <sys/wait.h>

#include "foundation/loop/signal.h"

static struct cay_loop *loop;
static int seen[8], pids[8];
static unsigned count;

static int setup(void **state)
{
        count = 0;
        loop = cay_loop_new();
        return loop ? 0 : -1;
}

static int teardown(void **state)
{
        cay_loop_free(loop);
        return 0;
}

static void on_signal(struct cay_signal *s, int signo, int pid)
{
        assert_true(count < CAY_COUNT(seen));
        seen[count] = signo;
        pids[count++] = pid;
}

static bool is_blocked(int signo)
{
        sigset_t now;

        sigprocmask(SIG_BLOCK, NULL, &now);
        return sigismember(&now, signo) == 1;
}

static void test_delivery(void **state)
{
        static const int signals[] = { SIGUSR1, SIGTERM };
        struct cay_signal s = { 0 };

        assert_int_equal(cay_signal_open(loop, &s, signals, 2, on_signal), 0);
        assert_true(is_blocked(SIGUSR1));
        assert_true(is_blocked(SIGTERM));
        assert_int_equal(cay_loop_round(loop, 0), 0);
        assert_int_equal(count, 0);
        kill(getpid(), SIGUSR1);
        kill(getpid(), SIGTERM);
        for (int i = 0; i < 3; i++)
                assert_int_equal(cay_loop_round(loop, 0), 0);
        assert_int_equal(count, 2);
        assert_int_equal(seen[0] + seen[1], SIGUSR1 + SIGTERM);
        assert_int_equal(pids[0], getpid());
        cay_signal_close(&s);
        assert_false(is_blocked(SIGUSR1));
        assert_false(is_blocked(SIGTERM));
        cay_signal_close(&s);
}

static void test_child(void **state)
{
        static const int signals[] = { SIGCHLD };
        struct cay_signal s = { 0 };
        pid_t pid;

        assert_int_equal(cay_signal_open(loop, &s, signals, 1, on_signal), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0)
                _exit(0);
        for (int i = 0; i < 600 && count == 0; i++)
                assert_int_equal(cay_loop_round(loop, 100), 0);
        assert_int_equal(count, 1);
        assert_int_equal(seen[0], SIGCHLD);
        assert_int_equal(pids[0], pid);
        waitpid(pid, NULL, 0);
        cay_signal_close(&s);
}

static void test_mask_of_before_is_kept(void **state)
{
        static const int signals[] = { SIGUSR1 };
        struct cay_signal s = { 0 };
        sigset_t mine, clean;

        sigemptyset(&mine);
        sigaddset(&mine, SIGUSR1);
        sigaddset(&mine, SIGUSR2);
        sigprocmask(SIG_BLOCK, &mine, &clean);
        assert_int_equal(cay_signal_open(loop, &s, signals, 1, on_signal), 0);
        cay_signal_close(&s);
        assert_true(is_blocked(SIGUSR1)); /* was blocked by the caller, so it stays */
        assert_true(is_blocked(SIGUSR2));
        sigprocmask(SIG_SETMASK, &clean, NULL);
}

static void close_inside(struct cay_signal *s, int signo, int pid)
{
        count++;
        cay_signal_close(s);
}

static void test_close_inside_callback(void **state)
{
        static const int signals[] = { SIGUSR1 };
        struct cay_signal s = { 0 };

        assert_int_equal(cay_signal_open(loop, &s, signals, 1, close_inside), 0);
        kill(getpid(), SIGUSR1);
        assert_int_equal(cay_loop_round(loop, 0), 0);
        assert_int_equal(cay_loop_round(loop, 0), 0);
        assert_int_equal(count, 1);
        assert_false(is_blocked(SIGUSR1));
}

static void test_refused(void **state)
{
        static const int signals[] = { SIGUSR1, 9999 };
        struct cay_signal s = { 0 };

        assert_int_equal(cay_signal_open(loop, &s, signals, 2, on_signal), -EINVAL);
        assert_false(is_blocked(SIGUSR1));
        cay_signal_close(&s); /* never opened */
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
        const struct CMUnitTest tests[] = {
                T(test_delivery),
                T(test_child),
                T(test_mask_of_before_is_kept),
                T(test_close_inside_callback),
                T(test_refused),
        };

        return cmocka_run_group_tests_name("loop/signal", tests, NULL, NULL);
}
