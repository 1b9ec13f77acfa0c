/* SPDX-License-Identifier: Apache-2.0 */
/* Path strings. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "foundation/base/path.h"

static void test_is_inside(void **state)
{
        static const char *const good[] = {
                "a", "a/b", "a/b/c.d", "..a", "a..", "...", ".", "a/./b", "a/...b"
        };
        static const char *const bad[] = { "",     "/",  "/a",   "..",   "../a", "a/..",    "a/../b",
                                           "a//b", "a/", "a/b/", "./..", "//",   "a/.././b" };

        for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
                assert_true(cay_path_is_inside(good[i]));
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                assert_false(cay_path_is_inside(bad[i]));
}

static void test_is_plain(void **state)
{
        static const char *const good[] = { "a", "a/b", "..a", "a..", "...", ".a", "a./b" };
        static const char *const bad[] = { "", ".", "./a", "a/.", "a/./b", "a/..", "/a", "a//b" };

        for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
                assert_true(cay_path_is_plain(good[i]));
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                assert_false(cay_path_is_plain(bad[i]));
}

static void test_is_name(void **state)
{
        assert_true(cay_path_is_name("a"));
        assert_true(cay_path_is_name(".hidden"));
        assert_true(cay_path_is_name("..."));
        assert_false(cay_path_is_name(""));
        assert_false(cay_path_is_name("."));
        assert_false(cay_path_is_name(".."));
        assert_false(cay_path_is_name("a/b"));
        assert_false(cay_path_is_name("a/"));
        assert_false(cay_path_is_name("/"));
}

static void test_base(void **state)
{
        assert_string_equal(cay_path_base("a"), "a");
        assert_string_equal(cay_path_base("/usr/bin/python3"), "python3");
        assert_string_equal(cay_path_base("a/"), "");
        assert_string_equal(cay_path_base(""), "");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_is_inside),
                cmocka_unit_test(test_is_plain),
                cmocka_unit_test(test_is_name),
                cmocka_unit_test(test_base),
        };

        return cmocka_run_group_tests_name("base/path", tests, NULL, NULL);
}
