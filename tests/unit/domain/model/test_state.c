/* SPDX-License-Identifier: Apache-2.0 */
/* The states of a sandbox: words, and every pair of them. */
#include "domain/model/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void words(void **state)
{
        for (unsigned i = 0; i < CAY_STATE_COUNT; i++) {
                assert_int_equal(cay_state_find(cay_state_word((enum cay_state)i)), i);
                for (unsigned k = 0; k < i; k++)
                        assert_string_not_equal(cay_state_word((enum cay_state)i),
                                                cay_state_word((enum cay_state)k));
        }
        assert_int_equal(cay_state_find("nonsense"), -1);
        assert_int_equal(cay_state_find(""), -1);
        assert_string_equal(cay_state_word(CAY_STATE_COUNT), "?");
}

static void moves(void **state)
{
        static const char *const allowed[] = {
                "creating ready",   "creating stopped", "creating error", "ready busy",     "ready paused",
                "ready stopped",    "ready error",      "busy ready",     "busy paused",    "busy stopped",
                "busy error",       "paused ready",     "paused busy",    "paused stopped", "paused error",
                "stopped creating", "stopped error",    "error creating", "error ready",    "error busy",
                "error stopped",
        };
        unsigned count = 0;

        for (unsigned from = 0; from < CAY_STATE_COUNT; from++) {
                for (unsigned to = 0; to < CAY_STATE_COUNT; to++) {
                        char text[40];
                        bool expected = false;

                        snprintf(text, sizeof(text), "%s %s", cay_state_word((enum cay_state)from),
                                 cay_state_word((enum cay_state)to));
                        for (unsigned i = 0; i < sizeof(allowed) / sizeof(allowed[0]); i++)
                                expected |= strcmp(allowed[i], text) == 0;
                        assert_int_equal(cay_state_can_move((enum cay_state)from, (enum cay_state)to),
                                         expected);
                        count += expected;
                }
        }
        assert_int_equal(count, sizeof(allowed) / sizeof(allowed[0]));
        assert_false(cay_state_can_move(CAY_STATE_COUNT, CAY_STATE_READY));
        assert_false(cay_state_can_move(CAY_STATE_READY, CAY_STATE_COUNT));
}

static void boxes(void **state)
{
        assert_true(cay_state_has_box(CAY_STATE_CREATING));
        assert_true(cay_state_has_box(CAY_STATE_READY));
        assert_true(cay_state_has_box(CAY_STATE_BUSY));
        assert_true(cay_state_has_box(CAY_STATE_PAUSED));
        assert_false(cay_state_has_box(CAY_STATE_STOPPED));
        assert_false(cay_state_has_box(CAY_STATE_ERROR));
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(words), cmocka_unit_test(moves),
                                            cmocka_unit_test(boxes) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
