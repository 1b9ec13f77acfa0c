/* SPDX-License-Identifier: Apache-2.0 */
/* Folding of characters: case in three scripts, white space, and what belongs to a word. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "foundation/base/fold.h"

static void assert_same(const char *a, const char *b)
{
        for (;;) {
                uint32_t c = cay_fold_next(&a);

                assert_int_equal(c, cay_fold_next(&b));
                if (c == 0)
                        return;
        }
}

static void capitals_are_small_letters(void **state)
{
        assert_same("AZaz09_", "azAZ09_");
        assert_same("\u00c4\u00d6\u00dc\u00c9\u00d1\u00d7", "\u00e4\u00f6\u00fc\u00e9\u00f1\u00d7");
        assert_same("\u0141\u0143\u0160\u017b\u0110\u0178", "\u0142\u0144\u0161\u017c\u0111\u00ff");
        assert_same("\u0391\u03a9\u03a3\u03c2", "\u03b1\u03c9\u03c3\u03c3");
        assert_same("\u0410\u042f\u0401\u0404\u0490", "\u0430\u044f\u0451\u0454\u0491");
        assert_same("\u4e2d\U0001f600", "\u4e2d\U0001f600");
}

static void white_space_is_a_blank(void **state)
{
        assert_same("a\tb\nc\rd\ve\u00a0f\u2009g\u3000h\u2028i", "a b c d e f g h i");
}

static void any_bytes_end(void **state)
{
        const char *text = "\xff\xc3\xe2\x82z", *at = text;
        unsigned n = 0;

        while (cay_fold_next(&at) != 0)
                n++;
        assert_int_equal(n, 5);
        assert_ptr_equal(at, text + strlen(text));
        assert_int_equal(cay_fold_next(&at), 0); /* and stays there */
}

static void words(void **state)
{
        assert_true(cay_fold_is_word('a') && cay_fold_is_word('7') && cay_fold_is_word(0xe4) &&
                    cay_fold_is_word(0x44f));
        assert_false(cay_fold_is_word(0) || cay_fold_is_word(' ') || cay_fold_is_word('-') ||
                     cay_fold_is_word(0x2014) || cay_fold_is_word(0xab) || cay_fold_is_word(0x4e2d));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(capitals_are_small_letters),
                cmocka_unit_test(white_space_is_a_blank),
                cmocka_unit_test(any_bytes_end),
                cmocka_unit_test(words),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
