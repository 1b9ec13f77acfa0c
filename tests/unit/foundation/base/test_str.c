/* SPDX-License-Identifier: Apache-2.0 */
/* Bounded copy and prefix. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "foundation/base/str.h"

static void test_copy(void **state)
{
        char dst[4] = "xyz";

        assert_true(cay_str_copy(dst, sizeof(dst), "abc"));
        assert_string_equal(dst, "abc");
        assert_false(cay_str_copy(dst, sizeof(dst), "abcd"));
        assert_string_equal(dst, "");
        assert_true(cay_str_copy(dst, 1, ""));
        assert_false(cay_str_copy(dst, 1, "a"));
        assert_true(cay_str_copy(dst, sizeof(dst), "abc"));
        assert_true(cay_str_copy(dst, sizeof(dst), dst + 1)); /* overlapping */
        assert_string_equal(dst, "bc");
}

static void test_starts(void **state)
{
        assert_true(cay_str_starts("abc", ""));
        assert_true(cay_str_starts("abc", "ab"));
        assert_true(cay_str_starts("abc", "abc"));
        assert_false(cay_str_starts("abc", "abcd"));
        assert_false(cay_str_starts("", "a"));
        assert_false(cay_str_starts("abc", "b"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_copy),
                cmocka_unit_test(test_starts),
        };

        return cmocka_run_group_tests_name("base/str", tests, NULL, NULL);
}
