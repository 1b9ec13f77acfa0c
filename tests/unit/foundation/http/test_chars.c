/* SPDX-License-Identifier: Apache-2.0 */
/* Character classes by the RFC's lists, values at every offset and length, lists. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "foundation/http/chars.h"

static void tokens(void **state)
{
        static const char others[] = "!#$%&'*+-.^_`|~";

        for (int c = 0; c < 256; c++) {
                bool fine = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                            (c && strchr(others, c));

                assert_int_equal(cay_http_is_token_char((char)c), fine);
        }
        assert_true(cay_http_is_token("X-A", 3));
        assert_false(cay_http_is_token("X A", 3));
        assert_false(cay_http_is_token("", 0));
}

static void values(void **state)
{
        char text[40];

        for (int c = 0; c < 256; c++) {
                bool fine = c == '\t' || (c >= 0x20 && c != 0x7f);

                for (size_t len = 1; len <= sizeof(text); len++) {
                        for (size_t at = 0; at < len; at++) {
                                memset(text, at % 2 ? 0xff : 'x', sizeof(text));
                                text[at] = (char)c;
                                assert_int_equal(cay_http_is_value(text, len), fine);
                        }
                }
        }
        assert_true(cay_http_is_value("", 0));
}

static void lists(void **state)
{
        static const char list[] = " close,, Keep-Alive ,\tupgrade";

        assert_true(cay_http_list_has(list, strlen(list), "close"));
        assert_true(cay_http_list_has(list, strlen(list), "keep-alive"));
        assert_true(cay_http_list_has(list, strlen(list), "UPGRADE"));
        assert_false(cay_http_list_has(list, strlen(list), "up"));
        assert_false(cay_http_list_has(list, strlen(list), ""));
        assert_false(cay_http_list_has("", 0, "close"));
        assert_false(cay_http_list_has("xclose", 6, "close"));
        assert_true(cay_http_same_name("AbC", 3, "aBc"));
        assert_false(cay_http_same_name("AbC", 2, "aBc"));
}

static void hex(void **state)
{
        for (int c = 0; c < 256; c++) {
                const char *digits = "0123456789abcdef",
                           *at = c ? strchr(digits, c | (c >= 'A' && c <= 'F' ? 32 : 0)) : NULL;

                assert_int_equal(cay_http_hex_digit((char)c), at ? at - digits : -1);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(tokens), cmocka_unit_test(values),
                                            cmocka_unit_test(lists), cmocka_unit_test(hex) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
