/* SPDX-License-Identifier: Apache-2.0 */
/* Names as text for messages. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "foundation/base/files_text.h"

static void plain_names_stay(void **state)
{
        struct cay_files_text t;

        (void)state;
        assert_string_equal(cay_files_quote(&t, "a/b c-1.txt"), "a/b c-1.txt");
        assert_string_equal(cay_files_quote(&t, ""), "");
}

static void other_bytes_are_encoded(void **state)
{
        struct cay_files_text t;

        (void)state;
        assert_string_equal(cay_files_quote(&t, "a\nb"), "a%0Ab");
        assert_string_equal(cay_files_quote(&t, "\xff\xfe'\"%\\\x1b[31m"), "%FF%FE%27%22%25%5C%1B[31m");
        assert_string_equal(cay_files_quote(&t, "\xc3\xa4"), "%C3%A4");
}

static void long_names_show_their_end(void **state)
{
        struct cay_files_text t;
        char name[5000];

        (void)state;
        memset(name, 'x', sizeof(name));
        memcpy(name + sizeof(name) - 5, "/end", 5);
        cay_files_quote(&t, name);
        assert_int_equal(strlen(t.s), sizeof(t.s) - 1);
        assert_memory_equal(t.s, "...xx", 5);
        assert_string_equal(t.s + strlen(t.s) - 4, "/end");
        memset(name, '\n', sizeof(name) - 1);
        cay_files_quote(&t, name);
        assert_memory_equal(t.s, "...%0A", 6);
        assert_string_equal(t.s + strlen(t.s) - 3, "%0A");
}

static void escape_never_cuts_a_character(void **state)
{
        char out[8];

        (void)state;
        assert_int_equal(cay_files_escape("ab\ncd", 5, out, sizeof(out)), 7);
        assert_string_equal(out, "ab%0Acd");
        assert_int_equal(cay_files_escape("abcdef\n", 7, out, sizeof(out)), 6);
        assert_string_equal(out, "abcdef");
        assert_int_equal(cay_files_escape("a\0b", 3, out, sizeof(out)), 5);
        assert_string_equal(out, "a%00b");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(plain_names_stay),
                cmocka_unit_test(other_bytes_are_encoded),
                cmocka_unit_test(long_names_show_their_end),
                cmocka_unit_test(escape_never_cuts_a_character),
        };

        return cmocka_run_group_tests_name("init/files_text", tests, NULL, NULL);
}
