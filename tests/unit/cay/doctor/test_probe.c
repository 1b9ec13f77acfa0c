/* SPDX-License-Identifier: Apache-2.0 */
/* Probes answer, fail, die or hang: each is told apart, and nobody stays. */
#include "doctor_test.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "cay/doctor/probe.h"

#define LONG_MS 60000 /* for what comes at once, on a machine that has something else to do */

static int add(const void *arg, void *ret)
{
        *(int *)ret += *(const int *)arg;
        return 0;
}

static int refuse(const void *arg, void *ret)
{
        *(int *)ret = 5;
        return -EPERM;
}

static int die(const void *arg, void *ret)
{
        *(int *)ret = 5;
        raise(SIGKILL);
        return 0;
}

static int hang(const void *arg, void *ret)
{
        *(int *)ret = 5;
        for (;;)
                pause();
        return 0;
}

/* Whatever a probe changes about itself is gone with it. */
static int change(const void *arg, void *ret)
{
        return chdir("/") < 0 || close(STDERR_FILENO) < 0 ? -errno : 0;
}

static int say_enoent(void)
{
        return -ENOENT;
}

static int hang_inside(void)
{
        for (;;)
                pause();
        return 0;
}

static int inner(const void *arg, void *ret)
{
        return cay_doctor_probe_inner(say_enoent);
}

static int inner_hangs(const void *arg, void *ret)
{
        return cay_doctor_probe_inner(hang_inside);
}

static void nobody_left(void)
{
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        assert_int_equal(errno, ECHILD);
}

static void test_answers(void **state)
{
        int three = 3, value = 4;

        assert_int_equal(cay_doctor_probe(add, &three, &value, sizeof(value), LONG_MS), 0);
        assert_int_equal(value, 7);
        assert_int_equal(cay_doctor_probe(refuse, NULL, &value, sizeof(value), LONG_MS), -EPERM);
        assert_int_equal(value, 5);
        assert_int_equal(cay_doctor_probe(change, NULL, NULL, 0, LONG_MS), 0);
        assert_true(fcntl(STDERR_FILENO, F_GETFD) >= 0);
        assert_int_equal(cay_doctor_probe(inner, NULL, NULL, 0, LONG_MS), -ENOENT);
        nobody_left();
}

static void test_silence(void **state)
{
        int value = 4;

        assert_int_equal(cay_doctor_probe(die, NULL, &value, sizeof(value), LONG_MS), -ECHILD);
        assert_int_equal(cay_doctor_probe(hang, NULL, &value, sizeof(value), 50), -ETIMEDOUT);
        assert_int_equal(value, 4);
        assert_int_equal(cay_doctor_probe(inner_hangs, NULL, NULL, 0, 50), -ETIMEDOUT);
        nobody_left();
}

/* More than a pipe holds at once. */
static int fill(const void *arg, void *ret)
{
        memset(ret, 'x', 300000);
        return 0;
}

static void test_long_answer(void **state)
{
        char *big = calloc(1, 300001);

        assert_int_equal(cay_doctor_probe(fill, NULL, big, 300000, LONG_MS), 0);
        assert_int_equal(strlen(big), 300000);
        free(big);
        nobody_left();
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_answers), cmocka_unit_test(test_silence),
                                            cmocka_unit_test(test_long_answer) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
