/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables of phases: which pairs are legal, that an illegal one stops the process, and which tables are sound.
 */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "foundation/base/phase.h"

enum door { SHUT, AJAR, OPEN, BROKEN, DOOR_COUNT };

static const struct cay_phase_row rows[DOOR_COUNT] = {
        [SHUT] = { "shut", CAY_PHASE_BIT(AJAR) | CAY_PHASE_BIT(BROKEN) },
        [AJAR] = { "ajar", CAY_PHASE_BIT(SHUT) | CAY_PHASE_BIT(OPEN) },
        [OPEN] = { "open", CAY_PHASE_BIT(AJAR) },
        [BROKEN] = { "broken", 0 },
};
static const struct cay_phase_table doors = { "door", rows, DOOR_COUNT };

static void test_every_pair(void **state)
{
        const bool legal[DOOR_COUNT][DOOR_COUNT] = {
                [SHUT] = { [AJAR] = true, [BROKEN] = true },
                [AJAR] = { [SHUT] = true, [OPEN] = true },
                [OPEN] = { [AJAR] = true },
        };

        for (unsigned from = 0; from < DOOR_COUNT; from++)
                for (unsigned to = 0; to < DOOR_COUNT; to++)
                        assert_int_equal(cay_phase_may(&doors, from, to), legal[from][to]);
        assert_false(cay_phase_may(&doors, SHUT, DOOR_COUNT));
        assert_false(cay_phase_may(&doors, DOOR_COUNT, SHUT));
        assert_int_equal(cay_phase_move(&doors, SHUT, AJAR, "front"), AJAR);
}

static void test_an_illegal_pair_stops_the_process(void **state)
{
        int status = 0;
        pid_t pid = fork();

        assert_true(pid >= 0);
        if (pid == 0) {
                const struct rlimit no_core = { 0 };

                setrlimit(RLIMIT_CORE, &no_core);
                signal(SIGABRT, SIG_DFL);
                fclose(stderr);
                cay_phase_move(&doors, SHUT, OPEN, "front");
                _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(WTERMSIG(status), SIGABRT);
}

static void test_sound_tables(void **state)
{
        const struct cay_phase_row unreached[] = { { "one", 0 }, { "two", CAY_PHASE_BIT(0) } };
        const struct cay_phase_row unnamed[] = { { "one", CAY_PHASE_BIT(1) }, { "", 0 } };
        const struct cay_phase_row beyond[] = { { "one", CAY_PHASE_BIT(1) | CAY_PHASE_BIT(2) },
                                                { "two", 0 } };
        const struct cay_phase_table broken[] = { { "a", unreached, 2 },
                                                  { "b", unnamed, 2 },
                                                  { "c", beyond, 2 },
                                                  { "d", rows, 0 },
                                                  { "e", rows, CAY_PHASE_MAX + 1 } };

        assert_true(cay_phase_table_is_sound(&doors));
        for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
                assert_false(cay_phase_table_is_sound(&broken[i]));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_pair),
                cmocka_unit_test(test_an_illegal_pair_stops_the_process),
                cmocka_unit_test(test_sound_tables),
        };

        return cmocka_run_group_tests_name("base/phase", tests, NULL, NULL);
}
