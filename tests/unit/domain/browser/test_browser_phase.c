/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a browser: every pair of phases. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "domain/browser/browser_priv.h"

static void test_every_pair(void **state)
{
        const bool legal[CAY_BROWSER_PHASE_COUNT][CAY_BROWSER_PHASE_COUNT] = {
                [CAY_BROWSER_STARTING] = { [CAY_BROWSER_READY] = true,
                                           [CAY_BROWSER_WITHDRAWN] = true,
                                           [CAY_BROWSER_OVER] = true },
                [CAY_BROWSER_READY] = { [CAY_BROWSER_CLOSING] = true, [CAY_BROWSER_OVER] = true },
                [CAY_BROWSER_CLOSING] = { [CAY_BROWSER_OVER] = true },
                [CAY_BROWSER_WITHDRAWN] = { [CAY_BROWSER_OVER] = true }, /* it does not become ready */
                [CAY_BROWSER_OVER] = { [CAY_BROWSER_RELEASED] = true },
        };

        assert_true(cay_phase_table_is_sound(&cay_browser_phases));
        for (unsigned from = 0; from < CAY_BROWSER_PHASE_COUNT; from++)
                for (unsigned to = 0; to < CAY_BROWSER_PHASE_COUNT; to++)
                        assert_int_equal(cay_phase_may(&cay_browser_phases, from, to), legal[from][to]);
}

static void test_what_a_phase_means(void **state)
{
        const struct {
                enum cay_browser_phase phase;
                bool is_ready, is_closing, is_over;
        } rows[] = {
                { CAY_BROWSER_STARTING, false, false, false }, { CAY_BROWSER_READY, true, false, false },
                { CAY_BROWSER_CLOSING, true, true, false },    { CAY_BROWSER_WITHDRAWN, false, true, false },
                { CAY_BROWSER_OVER, false, false, true },      { CAY_BROWSER_RELEASED, false, false, true },
        };

        for (size_t i = 0; i < CAY_BROWSER_PHASE_COUNT; i++) {
                const struct cay_browser b = { .phase = rows[i].phase };

                assert_int_equal(cay_browser_is_ready(&b), rows[i].is_ready);
                assert_int_equal(cay_browser_is_closing(&b), rows[i].is_closing);
                assert_int_equal(cay_browser_is_over(&b), rows[i].is_over);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_pair),
                cmocka_unit_test(test_what_a_phase_means),
        };

        return cmocka_run_group_tests_name("domain/browser/browser_phase", tests, NULL, NULL);
}
