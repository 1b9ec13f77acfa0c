/* SPDX-License-Identifier: Apache-2.0 */
/* The error object: text, errno, order of contexts, cutting. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <limits.h>

#include "foundation/base/error.h"
#include "foundation/base/utf8.h"

static void test_fail(void **state)
{
        struct cay_error err = { .sys = 99 };

        assert_int_equal(cay_fail(&err, CAY_INVALID, "bad '%s' (%d)", "x", 5), -1);
        assert_int_equal(err.code, CAY_INVALID);
        assert_int_equal(err.sys, 0);
        assert_string_equal(err.msg, "bad 'x' (5)");
}

static void test_fail_sys(void **state)
{
        struct cay_error err = { 0 };

        assert_int_equal(cay_fail_sys(&err, CAY_NOT_FOUND, -ENOENT, "open '%s'", "x"), -1);
        assert_int_equal(err.code, CAY_NOT_FOUND);
        assert_int_equal(err.sys, ENOENT);
        assert_string_equal(err.msg, "open 'x': No such file or directory");
        cay_fail_sys(&err, CAY_INTERNAL, INT_MIN, "odd");
        assert_true(err.sys > 0);
}

static void test_fail_because(void **state)
{
        struct cay_error err = { 0 };

        assert_int_equal(cay_fail_because(&err, CAY_CONFLICT, CAY_REASON_PAUSED, "'%s' is paused", "x"), -1);
        assert_int_equal(err.code, CAY_CONFLICT);
        assert_int_equal(err.reason, CAY_REASON_PAUSED);
        assert_string_equal(err.msg, "'x' is paused");
        cay_wrap(&err, "start");
        assert_int_equal(err.reason, CAY_REASON_PAUSED);
        cay_fail(&err, CAY_CONFLICT, "another");
        assert_int_equal(err.reason, CAY_REASON_NONE);
        assert_string_equal(cay_reason_word(CAY_REASON_PAUSED), "paused");
        assert_string_equal(cay_reason_word(CAY_REASON_NONE), "");
        assert_string_equal(cay_reason_word((enum cay_reason)999), "");
}

static void test_wrap_order(void **state)
{
        struct cay_error err = { 0 };

        cay_fail_sys(&err, CAY_DENIED, -EACCES, "inner");
        assert_int_equal(cay_wrap(&err, "middle %d", 2), -1);
        assert_int_equal(cay_wrap(&err, "outer"), -1);
        assert_string_equal(err.msg, "outer: middle 2: inner: Permission denied");
        assert_int_equal(err.code, CAY_DENIED);
        assert_int_equal(err.sys, EACCES);
}

static void test_own_text_as_argument(void **state)
{
        struct cay_error err = { 0 };

        cay_fail(&err, CAY_INVALID, "first");
        cay_fail(&err, CAY_LIMIT, "again: %s", err.msg);
        assert_string_equal(err.msg, "again: first");
        cay_wrap(&err, "<%s>", err.msg);
        assert_string_equal(err.msg, "<again: first>: again: first");
}

static void test_cut(void **state)
{
        struct cay_error err = { 0 };
        char big[600];

        memset(big, 'a', sizeof(big) - 1);
        big[sizeof(big) - 1] = '\0';
        cay_fail(&err, CAY_INVALID, "%s", big);
        assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
        cay_wrap(&err, "ctx");
        assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
        assert_memory_equal(err.msg, "ctx: aaa", 8);
        cay_wrap(&err, "%s", big); /* a context that fills it alone */
        assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
        cay_fail_sys(&err, CAY_INVALID, -ENOENT, "%s", big);
        assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);

        big[255] = '\0'; /* exactly full */
        cay_fail(&err, CAY_INVALID, "%s", big);
        assert_string_equal(err.msg, big);
}

static void test_cut_keeps_characters_whole(void **state)
{
        for (size_t shift = 0; shift < 4; shift++) {
                struct cay_error err = { 0 };
                char big[500];

                memset(big, 'x', shift);
                for (size_t i = shift; i + 3 < sizeof(big); i += 3)
                        memcpy(big + i, "\xe2\x82\xac", 4);
                cay_fail(&err, CAY_INVALID, "%s", big);
                assert_true(cay_utf8_valid(err.msg, strlen(err.msg)));
                assert_true(strlen(err.msg) >= sizeof(err.msg) - 3);
                cay_wrap(&err, "y");
                assert_true(cay_utf8_valid(err.msg, strlen(err.msg)));
        }
}

static void test_words(void **state)
{
        assert_string_equal(cay_code_word(CAY_OK), "ok");
        assert_string_equal(cay_code_word(CAY_INTERNAL), "internal");
        assert_non_null(cay_code_word(CAY_CODE_COUNT));
        assert_non_null(cay_code_word((enum cay_code) - 1));
        for (int i = 0; i < CAY_CODE_COUNT; i++) {
                assert_true(strlen(cay_code_word((enum cay_code)i)) > 0);
                for (int k = 0; k < i; k++)
                        assert_string_not_equal(cay_code_word((enum cay_code)i),
                                                cay_code_word((enum cay_code)k));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_fail),
                cmocka_unit_test(test_fail_sys),
                cmocka_unit_test(test_fail_because),
                cmocka_unit_test(test_wrap_order),
                cmocka_unit_test(test_own_text_as_argument),
                cmocka_unit_test(test_cut),
                cmocka_unit_test(test_cut_keeps_characters_whole),
                cmocka_unit_test(test_words),
        };

        return cmocka_run_group_tests_name("base/error", tests, NULL, NULL);
}
