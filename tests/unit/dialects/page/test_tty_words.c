/* SPDX-License-Identifier: Apache-2.0 */
/* What ttyd's clients say, and what only looks like it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "foundation/base/cleanup.h"
#include "dialects/page/tty_words.h"

static enum cay_tty_word read_text(const char *text, struct cay_tty_size *ret)
{
        return cay_tty_read(text, strlen(text), ret);
}

static void test_words(void **state)
{
        static const struct {
                const char *text;
                enum cay_tty_word word;
        } rows[] = {
                { "", CAY_TTY_NONSENSE },
                { "0", CAY_TTY_INPUT },
                { "0ls\r", CAY_TTY_INPUT },
                { "2", CAY_TTY_PAUSE },
                { "3", CAY_TTY_RESUME },
                { "4", CAY_TTY_NONSENSE },
                { "{}", CAY_TTY_NONSENSE },
                { "1", CAY_TTY_NONSENSE },
                { "1{", CAY_TTY_NONSENSE },
                { "1[]", CAY_TTY_NONSENSE },
                { "1{\"rows\":5}", CAY_TTY_NONSENSE },
                { "1{\"rows\":0,\"columns\":9}", CAY_TTY_NONSENSE },
                { "1{\"rows\":\"5\",\"columns\":9}", CAY_TTY_NONSENSE },
                { "1{\"rows\":5,\"columns\":9}", CAY_TTY_SIZE },
        };
        struct cay_tty_size size;

        (void)state;
        for (size_t i = 0; i < CAY_COUNT(rows); i++)
                assert_int_equal(read_text(rows[i].text, &size), rows[i].word);
}

static void test_size(void **state)
{
        struct cay_tty_size size = { 1, 2 };

        (void)state;
        read_text("1{\"columns\":120,\"rows\":40,\"more\":[1]}", &size);
        assert_int_equal(size.rows, 40);
        assert_int_equal(size.cols, 120);
        read_text("1{\"columns\":-1,\"rows\":41}", &size); /* untouched */
        assert_int_equal(size.rows, 40);
        read_text("1{\"columns\":99999999999,\"rows\":7}", &size);
        assert_int_equal(size.cols, CAY_TTY_SIDE_MAX);
}

static void test_first(void **state)
{
        static const char usual[] = "{\"AuthToken\":\"x\",\"columns\":91,\"rows\":33}";
        char longest[CAY_TTY_TOKEN_MAX + 32];
        struct cay_tty_first first;

        (void)state;
        assert_true(cay_tty_read_first(usual, strlen(usual), &first));
        assert_int_equal(first.size.rows, 33);
        assert_int_equal(first.size.cols, 91);
        assert_string_equal(first.token, "x");
        assert_true(cay_tty_read_first("{}", 2, &first));
        assert_int_equal(first.size.rows, 24);
        assert_int_equal(first.size.cols, 80);
        assert_string_equal(first.token, "");
        assert_true(cay_tty_read_first("{\"AuthToken\":7}", 15, &first));
        assert_string_equal(first.token, "");
        for (unsigned len = CAY_TTY_TOKEN_MAX; len <= CAY_TTY_TOKEN_MAX + 1; len++) {
                snprintf(longest, sizeof(longest), "{\"AuthToken\":\"%0*d\"}", (int)len, 0);
                assert_true(cay_tty_read_first(longest, strlen(longest), &first));
                assert_int_equal(strlen(first.token),
                                 len <= CAY_TTY_TOKEN_MAX ? len : 0); /* too long is none */
        }
        assert_false(cay_tty_read_first("0ls", 3, &first));
        assert_false(cay_tty_read_first("", 0, &first));
        assert_false(cay_tty_read_first("[1]", 3, &first));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_words),
                cmocka_unit_test(test_size),
                cmocka_unit_test(test_first),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
