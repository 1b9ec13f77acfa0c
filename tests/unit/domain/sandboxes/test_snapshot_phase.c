/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a snapshot: every pair of phases, and which phases clients see. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "domain/sandboxes/snapshot_priv.h"

static void test_every_pair(void **state)
{
        const bool legal[CAY_SNAPSHOT_PHASE_COUNT][CAY_SNAPSHOT_PHASE_COUNT] = {
                [CAY_SNAPSHOT_MAKING] = { [CAY_SNAPSHOT_UNSEEN] = true, [CAY_SNAPSHOT_READY] = true },
                [CAY_SNAPSHOT_UNSEEN] = { [CAY_SNAPSHOT_READY] = true,
                                          [CAY_SNAPSHOT_MISSING] = true,
                                          [CAY_SNAPSHOT_DROPPING] = true },
                [CAY_SNAPSHOT_READY] = { [CAY_SNAPSHOT_DROPPING] =
                                                 true }, /* its files are not looked for again */
                [CAY_SNAPSHOT_MISSING] = { [CAY_SNAPSHOT_DROPPING_MISSING] = true },
                [CAY_SNAPSHOT_DROPPING] = { [CAY_SNAPSHOT_READY] = true },
                [CAY_SNAPSHOT_DROPPING_MISSING] = { [CAY_SNAPSHOT_MISSING] = true },
        };

        assert_true(cay_phase_table_is_sound(&cay_snapshot_phases));
        for (unsigned from = 0; from < CAY_SNAPSHOT_PHASE_COUNT; from++)
                for (unsigned to = 0; to < CAY_SNAPSHOT_PHASE_COUNT; to++)
                        assert_int_equal(cay_phase_may(&cay_snapshot_phases, from, to), legal[from][to]);
}

static void test_what_a_phase_means(void **state)
{
        const struct {
                enum cay_snapshot_phase phase;
                bool is_there, is_missing;
        } rows[] = {
                { CAY_SNAPSHOT_MAKING, false, false },   { CAY_SNAPSHOT_UNSEEN, true, false },
                { CAY_SNAPSHOT_READY, true, false },     { CAY_SNAPSHOT_MISSING, true, true },
                { CAY_SNAPSHOT_DROPPING, false, false }, { CAY_SNAPSHOT_DROPPING_MISSING, false, true },
        };

        for (size_t i = 0; i < CAY_SNAPSHOT_PHASE_COUNT; i++) {
                const struct cay_snapshot n = { .phase = rows[i].phase };

                assert_int_equal(cay_snapshot_is_there(&n), rows[i].is_there);
                assert_int_equal(cay_snapshot_is_missing(&n), rows[i].is_missing);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_pair),
                cmocka_unit_test(test_what_a_phase_means),
        };

        return cmocka_run_group_tests_name("domain/sandboxes/snapshot_phase", tests, NULL, NULL);
}
