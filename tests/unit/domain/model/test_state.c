/* SPDX-License-Identifier: Apache-2.0 */
/* The states of a sandbox: their words, and which of them have a box. */
#include "domain/model/state.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
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
        const struct CMUnitTest tests[] = { cmocka_unit_test(words), cmocka_unit_test(boxes) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
