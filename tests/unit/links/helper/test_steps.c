/* SPDX-License-Identifier: Apache-2.0 */
/* The trace table, its times, and the kill points of test builds. */

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "foundation/base/cleanup.h"
#include "links/helper/steps.h"

static const struct {
        const char *name, *doc;
        enum cay_step_who who;
} rows[] = {
#define CAY_STEP(name, who, doc) { #name, doc, CAY_WHO_##who },
#include "links/helper/steps.def"
#undef CAY_STEP
};

static void test_table(void **state)
{
        assert_int_equal(CAY_COUNT(rows), CAY_STEP_COUNT);
        for (unsigned i = 0; i < CAY_STEP_COUNT; i++) {
                assert_string_equal(cay_step_name(i), rows[i].name);
                assert_int_equal(cay_step_who(i), rows[i].who);
                assert_true(rows[i].doc[0]);
                for (unsigned k = 0; k < i; k++)
                        assert_string_not_equal(rows[i].name, rows[k].name);
        }
        assert_string_equal(cay_step_name(CAY_STEP_COUNT), "?");
        /* The front begins and ends it; what a box does lies between its birth and its being made. */
        assert_int_equal(CAY_STEP_cli_start, 0);
        assert_int_equal(CAY_STEP_gone, CAY_STEP_COUNT - 1);
        for (unsigned i = 0; i < CAY_STEP_COUNT; i++)
                if (rows[i].who == CAY_WHO_BOX)
                        assert_true(i > CAY_STEP_cloned && i < CAY_STEP_made);
}

static void test_times(void **state)
{
        struct cay_steps steps = { 0 };
        struct timespec now;
        uint64_t before, after;

        clock_gettime(CLOCK_REALTIME, &now);
        before = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
        cay_step_reached(&steps, CAY_STEP_mapped);
        clock_gettime(CLOCK_REALTIME, &now);
        after = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
        assert_true(steps.at_ns[CAY_STEP_mapped] >= before && steps.at_ns[CAY_STEP_mapped] <= after);
        for (unsigned i = 0; i < CAY_STEP_COUNT; i++)
                assert_true(i == CAY_STEP_mapped || steps.at_ns[i] == 0);
}

/* A child that plays a role ("cli", "warden") beside another process, and goes through every step. */
static int go_through(const char *spec, bool is_cli, pid_t other, pid_t box)
{
        int status;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                struct cay_steps steps = { 0 };

                setenv("CAY_TEST_KILL", spec, 1);
                if (is_cli)
                        cay_step_arm(getpid(), other);
                else
                        cay_step_arm(other, getpid());
                cay_step_box(box);
                for (unsigned i = 0; i < CAY_STEP_COUNT; i++)
                        if ((cay_step_who(i) == CAY_WHO_CLI) == is_cli)
                                cay_step_reached(&steps, i);
                _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        return status;
}

static pid_t bystander(void)
{
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0)
                for (;;)
                        pause();
        return pid;
}

static bool is_dead(pid_t pid) /* and reaped with it */
{
        int status;

        if (waitpid(pid, &status, WNOHANG) == pid)
                return WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
        kill(pid, SIGKILL);
        waitpid(pid, &status, 0);
        return false;
}

#ifdef CAY_TEST_HOOKS

static void test_kill_oneself(void **state)
{
        for (unsigned i = 0; i < CAY_STEP_COUNT; i++) {
                static const char *const whos[] = { "cli", "warden", "box" };
                pid_t other = bystander();
                bool is_cli = rows[i].who == CAY_WHO_CLI;
                char spec[64];
                int status;

                snprintf(spec, sizeof(spec), "%s@%s", whos[rows[i].who], rows[i].name);
                status = go_through(spec, is_cli, other, 0);
                if (rows[i].who == CAY_WHO_BOX) /* pid 1 of a box cannot kill itself: it leaves */
                        assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 137);
                else
                        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
                assert_false(is_dead(other));
        }
}

/* The other is dead when the step is over, and who reached the step goes on. */
static void test_kill_another(void **state)
{
        for (unsigned i = 0; i < CAY_STEP_COUNT; i++) {
                bool is_cli = rows[i].who == CAY_WHO_CLI;
                pid_t other = bystander();
                char spec[64];

                snprintf(spec, sizeof(spec), "%s@%s", is_cli ? "warden" : "cli", rows[i].name);
                assert_int_equal(go_through(spec, is_cli, other, 0), 0);
                assert_true(is_dead(other));
                if (rows[i].who == CAY_WHO_BOX) { /* by its warden, which the killer is a child of */
                        snprintf(spec, sizeof(spec), "warden@%s", rows[i].name);
                        assert_true(WIFSIGNALED(go_through(spec, false, getpid(), 0)));
                }
        }
}

static void test_kill_box(void **state)
{
        for (unsigned i = 0; i < CAY_STEP_COUNT; i++) {
                pid_t box = bystander();
                char spec[64];

                snprintf(spec, sizeof(spec), "box@%s", rows[i].name);
                if (rows[i].who == CAY_WHO_WARDEN)
                        assert_int_equal(go_through(spec, false, getpid(), box), 0);
                assert_true(is_dead(box) == (rows[i].who == CAY_WHO_WARDEN));
        }
}

static void test_not_armed(void **state)
{
        static const char *const specs[] = { "",       "@",        "cli@", "cli@nothing", "warden@cloned",
                                             "mapped", "cli@mappe" };

        for (unsigned i = 0; i < CAY_COUNT(specs); i++) /* none of these concerns the CLI's own steps */
                assert_int_equal(go_through(specs[i], true, 0, 0), 0);
}

#else

static void test_kill_oneself(void **state)
{
        assert_int_equal(go_through("cli@cli_start", true, 0, 0), 0);
        assert_int_equal(go_through("warden@mapped", false, getpid(), 0), 0);
}

static void test_kill_another(void **state)
{
        pid_t other = bystander();

        assert_int_equal(go_through("warden@opened", true, other, 0), 0);
        assert_false(is_dead(other));
}

static void test_kill_box(void **state)
{
        pid_t box = bystander();

        assert_int_equal(go_through("box@mapped", false, getpid(), box), 0);
        assert_false(is_dead(box));
}

static void test_not_armed(void **state)
{
        skip();
}

#endif

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_table),        cmocka_unit_test(test_times),
                cmocka_unit_test(test_kill_oneself), cmocka_unit_test(test_kill_another),
                cmocka_unit_test(test_kill_box),     cmocka_unit_test(test_not_armed),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
