/* SPDX-License-Identifier: Apache-2.0 */
/* The Range field: one range is read, everything else is ignored. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "foundation/base/cleanup.h"
#include "dialects/rest/rest_range.h"

static void one_is_read(void **state)
{
        static const struct {
                const char *value;
                struct cay_rest_range want;
        } rows[] = {
                { "bytes=0-", { .from = 0 } },
                { "bytes=5-", { .from = 5 } },
                { "Bytes=5-5", { .from = 5, .has_length = true, .length = 1 } },
                { "bytes=0-99", { .from = 0, .has_length = true, .length = 100 } },
                { "bytes=007-8", { .from = 7, .has_length = true, .length = 2 } },
                { "bytes=-7", { .is_tail = true, .has_length = true, .length = 7 } },
                { "bytes=-0", { .is_tail = true, .has_length = true } },
                { "bytes=0-18446744073709551616", { .has_length = true, .length = INT64_MAX } },
                { "bytes=99999999999999999999-", { .from = INT64_MAX } },
                { "bytes=9223372036854775807-9223372036854775807",
                  { .from = INT64_MAX, .has_length = true, .length = 1 } },
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                struct cay_rest_range got = { 0 };

                assert_true(cay_rest_range_read(rows[i].value, &got));
                assert_int_equal(got.is_tail, rows[i].want.is_tail);
                assert_int_equal(got.from, rows[i].want.from);
                assert_int_equal(got.has_length, rows[i].want.has_length);
                assert_int_equal(got.length, rows[i].want.length);
        }
        (void)state;
}

static void others_are_ignored(void **state)
{
        static const char *const rows[] = {
                "",          "bytes",      "bytes=",        "bytes=-",     "bytes=1",    "bytes=a-b",
                "bytes=2-1", "bytes=1-2,", "bytes=1-2,4-5", "bytes= 1-2",  "bytes=1 -2", "bytes=1- 2",
                "bytes=--1", "bytes=+1-2", "bytes=1-2x",    "bytes=0x1-2", "lines=1-2",  "1-2",
                "bytes:1-2"
        };
        struct cay_rest_range got = { .from = 77 };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++)
                assert_false(cay_rest_range_read(rows[i], &got));
        assert_int_equal(got.from, 77);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(one_is_read),
                cmocka_unit_test(others_are_ignored),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
