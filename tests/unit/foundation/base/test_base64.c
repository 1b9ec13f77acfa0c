/* SPDX-License-Identifier: Apache-2.0 */
/* Base 64: the vectors of RFC 4648, all bytes, and refusals that change nothing. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "foundation/base/base64.h"

static void test_vectors(void **state)
{
        static const char *const rows[][2] = {
                { "", "" },
                { "f", "Zg==" },
                { "fo", "Zm8=" },
                { "foo", "Zm9v" },
                { "foob", "Zm9vYg==" },
                { "fooba", "Zm9vYmE=" },
                { "foobar", "Zm9vYmFy" },
                { "\xfb\xff\xbf", "+/+/" },
        };

        for (size_t i = 0; i < CAY_COUNT(rows); i++) {
                cay_auto_buf struct cay_buf b;

                cay_buf_init(&b, 8);
                assert_int_equal(cay_base64_encode(rows[i][0], strlen(rows[i][0]), &b), 0);
                assert_string_equal(cay_buf_data(&b), rows[i][1]);
                cay_buf_clear(&b);
                assert_int_equal(cay_base64_decode(rows[i][1], strlen(rows[i][1]), &b), 0);
                assert_string_equal(cay_buf_data(&b), rows[i][0]);
        }
}

static void test_refuses_what_is_no_base64(void **state)
{
        static const char *const rows[] = { "Zg=",  "Zg",   "Z===", "====", "Zh==", "Zm9=",      "Zg==Zg==",
                                            "Zm 9", "Zm9-", "Zm9_", "=Zg=", "Zg=a", "Zm9v\nZm9", "Zm9vZ" };

        for (size_t i = 0; i < CAY_COUNT(rows); i++) {
                cay_auto_buf struct cay_buf b;

                cay_buf_init(&b, 64);
                assert_int_equal(cay_base64_decode(rows[i], strlen(rows[i]), &b), -EINVAL);
                assert_int_equal(b.len, 0);
        }
}

static void test_decode_keeps_to_the_maximum(void **state)
{
        cay_auto_buf struct cay_buf b;

        cay_buf_init(&b, 3);
        assert_int_equal(cay_base64_decode("Zm9vYg==", 8, &b), -ENOSPC);
        assert_int_equal(b.len, 0);
        assert_int_equal(cay_base64_decode("Zm9v", 4, &b), 0);
        assert_string_equal(cay_buf_data(&b), "foo");
}

static void test_appends(void **state)
{
        cay_auto_buf struct cay_buf b;

        cay_buf_init(&b, 100);
        assert_int_equal(cay_buf_puts(&b, "x:"), 0);
        assert_int_equal(cay_base64_encode("\0\0\0", 3, &b), 0);
        assert_int_equal(cay_base64_encode("\0", 1, &b), 0);
        assert_string_equal(cay_buf_data(&b), "x:AAAAAA==");
}

static void test_does_not_fit(void **state)
{
        cay_auto_buf struct cay_buf b;

        cay_buf_init(&b, 7);
        assert_int_equal(cay_base64_encode("abcd", 4, &b), -ENOSPC);
        assert_int_equal(b.len, 0);
        assert_int_equal(cay_base64_encode("abc", 3, &b), 0);
        assert_int_equal(cay_base64_encode("a", 1, &b), -ENOSPC);
        assert_string_equal(cay_buf_data(&b), "YWJj");
        assert_int_equal(cay_base64_encode("a", SIZE_MAX, &b), -ENOSPC); /* refused before anything is read */
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_vectors),
                cmocka_unit_test(test_refuses_what_is_no_base64),
                cmocka_unit_test(test_decode_keeps_to_the_maximum),
                cmocka_unit_test(test_appends),
                cmocka_unit_test(test_does_not_fit),
        };

        return cmocka_run_group_tests_name("base/base64", tests, NULL, NULL);
}
