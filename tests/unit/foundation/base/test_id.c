/* SPDX-License-Identifier: Apache-2.0 */
/* Ids: their form, that every random bit counts, and which names callers may use. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "foundation/base/id.h"

static void test_form(void **state)
{
        uint8_t random[15] = { 0 };
        char id[CAY_ID_LEN + 1];

        cay_id_make(id, 0, 0, random);
        assert_string_equal(id, "aaaaaaaaaaaaaaaaaaaaaaaaaaaa");
        memset(random, 0xff, sizeof(random));
        cay_id_make(id, CAY_ID_NODES - 1, CAY_ID_EPOCHS - 1, random);
        assert_string_equal(id, "z777777777777777777777777777");
        cay_id_make(id, 33, 2 * 32 + 26, random);
        assert_memory_equal(id, "bbc2", 4);
        /* 0x08 0x42 … is 00001 00001 00001 …: the bits go in order, the high ones first */
        memcpy(random, "\x08\x42\x10\x84\x21\x08\x42\x10\x84\x21\x08\x42\x10\x84\x21", 15);
        cay_id_make(id, 0, 0, random);
        assert_string_equal(id, "aaaabbbbbbbbbbbbbbbbbbbbbbbb");
}

static void test_every_node_starts_with_a_letter(void **state)
{
        const uint8_t random[15] = { 0 };
        char id[CAY_ID_LEN + 1];

        for (unsigned node = 0; node < CAY_ID_NODES; node++) {
                cay_id_make(id, node, node % CAY_ID_EPOCHS, random);
                assert_true(cay_id_is_made(id));
                assert_true(cay_id_is_valid(id));
        }
}

static void test_every_bit_counts(void **state)
{
        char none[CAY_ID_LEN + 1], one[CAY_ID_LEN + 1];
        uint8_t random[15] = { 0 };

        cay_id_make(none, 0, 0, random);
        for (unsigned bit = 0; bit < 120; bit++) {
                unsigned differ = 0;

                random[bit / 8] = (uint8_t)(0x80 >> bit % 8);
                cay_id_make(one, 0, 0, random);
                random[bit / 8] = 0;
                for (unsigned i = 0; i < CAY_ID_LEN; i++)
                        differ += none[i] != one[i];
                assert_int_equal(differ, 1);
                assert_int_not_equal(none[4 + bit / 5], one[4 + bit / 5]);
        }
}

static void test_is_made(void **state)
{
        assert_false(cay_id_is_made(""));
        assert_false(cay_id_is_made("aaaaaaaaaaaaaaaaaaaaaaaaaaa"));   /* 27 */
        assert_false(cay_id_is_made("aaaaaaaaaaaaaaaaaaaaaaaaaaaaa")); /* 29 */
        assert_false(cay_id_is_made("2aaaaaaaaaaaaaaaaaaaaaaaaaaa"));
        assert_false(cay_id_is_made("aaaaaaaaaaaaa0aaaaaaaaaaaaaa"));
        assert_false(cay_id_is_made("aaaaaaaaaaaaa-aaaaaaaaaaaaaa"));
        assert_false(cay_id_is_made("aaaaaaaaaaaaaAaaaaaaaaaaaaaa"));
        assert_true(cay_id_is_made("aaaaaaaaaaaaa7aaaaaaaaaaaaaz"));
}

static void test_is_valid(void **state)
{
        static const char *const bad[] = { "",  "-",   "-a",  "a-",  "a.b",      "a/b",  "..",
                                           "A", "a_b", "a b", "a\n", "\xc3\xa4", "a-b-", " a" };
        char name[CAY_NAME_MAX + 2];

        assert_true(cay_id_is_valid("a"));
        assert_true(cay_id_is_valid("0"));
        assert_true(cay_id_is_valid("a-b"));
        assert_true(cay_id_is_valid("a--9"));
        for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
                assert_false(cay_id_is_valid(bad[i]));
        memset(name, 'a', sizeof(name));
        name[CAY_NAME_MAX] = '\0';
        assert_true(cay_id_is_valid(name));
        name[CAY_NAME_MAX] = 'a';
        name[CAY_NAME_MAX + 1] = '\0';
        assert_false(cay_id_is_valid(name));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_form),
                cmocka_unit_test(test_every_node_starts_with_a_letter),
                cmocka_unit_test(test_every_bit_counts),
                cmocka_unit_test(test_is_made),
                cmocka_unit_test(test_is_valid),
        };

        return cmocka_run_group_tests_name("base/id", tests, NULL, NULL);
}
