/* SPDX-License-Identifier: Apache-2.0 */
/* JSON text as ASCII. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dialects/e2b/e2b_ascii.h"

static void test_rows(void **state)
{
        static const char *const rows[][2] = {
                { "", "" },
                { "{\"a\":\"b\\n\"}", "{\"a\":\"b\\n\"}" },
                { "\"\xc3\xa9\"", "\"\\u00e9\"" },
                { "\"\xe2\x82\xac\"", "\"\\u20ac\"" },
                { "\"\xf0\x9f\x98\x80!\"", "\"\\ud83d\\ude00!\"" },
                { "\"\xc3\"", "\"\\ufffd\"" },   /* cut */
                { "\"\x80x\"", "\"\\ufffdx\"" }, /* no beginning */
                { "\xe2\x82", "\\ufffd\\ufffd" },
        };

        for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                cay_auto_buf struct cay_buf out = { 0 };

                cay_buf_init(&out, 100);
                assert_int_equal(e2b_ascii_put(&out, rows[i][0], strlen(rows[i][0])), 0);
                assert_string_equal(cay_buf_data(&out), rows[i][1]);
        }
        (void)state;
}

static void test_full(void **state)
{
        cay_auto_buf struct cay_buf out = { 0 };

        cay_buf_init(&out, 4);
        assert_true(e2b_ascii_put(&out, "\xc3\xa9", 2) < 0);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows), cmocka_unit_test(test_full) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
