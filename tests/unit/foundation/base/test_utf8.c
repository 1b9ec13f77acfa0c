/* SPDX-License-Identifier: Apache-2.0 */
/* UTF-8: every code point, and every way to be wrong. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "foundation/base/utf8.h"

static size_t encode(uint32_t c, uint8_t *out, size_t len)
{
        static const uint8_t lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

        if (len == 1) {
                out[0] = (uint8_t)c;
                return 1;
        }
        for (size_t i = len - 1; i > 0; i--, c >>= 6)
                out[i] = (uint8_t)(0x80 | (c & 0x3f));
        out[0] = (uint8_t)(lead[len] | c);
        return len;
}

static void test_every_code_point(void **state)
{
        uint8_t b[8];

        for (uint32_t c = 0; c < 0x120000; c++) {
                size_t best = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
                int good = c < 0x110000 && (c < 0xd800 || c > 0xdfff);

                for (size_t len = best; len <= 4; len++) { /* longer than needed: overlong */
                        size_t n;

                        encode(c, b, len);
                        b[len] = 'x';
                        n = cay_utf8_next(b, len + 1);
                        if (n != (good && len == best ? len : 0))
                                fail_msg("U+%X in %zu bytes gave %zu", c, len, n);
                }
        }
}

static void test_bad(void **state)
{
        static const char *const bad[] = {
                "\x80",         "\xbf",     "\xc0\x80", "\xc1\xbf",         "\xc3",
                "\xc3x",        "\xe2\x82", "\xe2x",    "\xf0\x9f\x98",     "\xf5\x80\x80\x80",
                "\xed\xa0\x80", "\xff",     "\xfe",     "\xf4\x90\x80\x80", "a\x80"
        };

        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                assert_false(cay_utf8_valid(bad[i], strlen(bad[i])));
        assert_true(cay_utf8_valid(NULL, 0));
        assert_int_equal(cay_utf8_next(NULL, 0), 0);
        assert_true(cay_utf8_valid("a\0b", 3));
        assert_true(cay_utf8_valid("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80", 15));
}

static void test_cut(void **state)
{
        static const struct {
                const char *bytes;
                size_t len;
        } rows[] = {
                { "", 0 },
                { "abc", 3 },
                { "ab\xc3", 2 },
                { "ab\xc3\xbc", 4 },
                { "ab\xe2\x82", 2 },
                { "ab\xe2", 2 },
                { "ab\xe2\x82\xac", 5 },
                { "\xf0\x9f\x98", 0 },
                { "\xf0\x9f", 0 },
                { "a\xf0\x9f\x98\x80", 5 },
                { "a\x80\x80", 3 }, /* wrong, but not cut short */
                { "a\x80\x80\x80\x80", 5 },
                { "a\xff", 2 },
                { "a\xe0\x80", 3 }, /* no character starts so */
        };

        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
                assert_int_equal(cay_utf8_cut(rows[i].bytes, strlen(rows[i].bytes)), rows[i].len);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_code_point),
                cmocka_unit_test(test_bad),
                cmocka_unit_test(test_cut),
        };

        return cmocka_run_group_tests_name("base/utf8", tests, NULL, NULL);
}
