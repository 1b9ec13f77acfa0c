/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/auth/proof.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void signatures_hold_for_one_role_and_text(void **state)
{
        static const uint8_t seeds[2][CAY_PROOF_KEY] = { { 1 }, { 2 } };
        struct cay_proof_pair one, other;
        uint8_t signature[CAY_PROOF_SIGNATURE];

        assert_int_equal(cay_proof_pair_from_seed(seeds[0], &one), 0);
        assert_int_equal(cay_proof_pair_from_seed(seeds[1], &other), 0);
        assert_int_equal(cay_proof_sign(&one, "agent", "words", 5, signature), 0);
        assert_true(cay_proof_is_signed(one.key, "agent", "words", 5, signature));
        assert_false(cay_proof_is_signed(one.key, "daemon", "words", 5, signature));
        assert_false(cay_proof_is_signed(one.key, "agent", "sword", 5, signature));
        assert_false(cay_proof_is_signed(other.key, "agent", "words", 5, signature));
        signature[3] ^= 1;
        assert_false(cay_proof_is_signed(one.key, "agent", "words", 5, signature));
}

/* RFC 8032, 7.1, test 1. */
static void keys_are_ed25519(void **state)
{
        static const uint8_t seed[CAY_PROOF_KEY] = { 0x9d, 0x61, 0xb1, 0x9d, 0xef, 0xfd, 0x5a, 0x60,
                                                     0xba, 0x84, 0x4a, 0xf4, 0x92, 0xec, 0x2c, 0xc4,
                                                     0x44, 0x49, 0xc5, 0x69, 0x7b, 0x32, 0x69, 0x19,
                                                     0x70, 0x3b, 0xac, 0x03, 0x1c, 0xae, 0x7f, 0x60 };
        static const uint8_t begin[] = { 0xd7, 0x5a, 0x98, 0x01, 0x82, 0xb1, 0x0a, 0xb7 };
        struct cay_proof_pair pair;

        assert_int_equal(cay_proof_pair_from_seed(seed, &pair), 0);
        assert_memory_equal(pair.key, begin, sizeof(begin));
}

static void codes_are_read_as_people_type_them(void **state)
{
        char code[CAY_PROOF_CODE], other[CAY_PROOF_CODE], typed[64];
        uint8_t one[CAY_PROOF_MAC], two[CAY_PROOF_MAC];

        assert_int_equal(cay_proof_code_make(code), 0);
        assert_int_equal(strlen(code), 23);
        snprintf(typed, sizeof(typed), "  %.5s%.5s %.5s-%.5s\n", code, code + 6, code + 12, code + 18);
        for (char *at = typed; *at; at++)
                if (*at >= 'a' && *at <= 'z')
                        *at = (char)(*at - 'a' + 'A');
        assert_true(cay_proof_code_read(typed, other));
        assert_string_equal(code, other);
        assert_false(cay_proof_code_read("", other));
        assert_false(cay_proof_code_read("abcde-abcde-abcde-abcd", other));
        assert_false(cay_proof_code_read("abcde-abcde-abcde-abcdea", other));
        assert_false(cay_proof_code_read("abcde-abcde-abcde-abcdl", other)); /* no l: it looks like 1 */

        assert_int_equal(cay_proof_mac(code, "agent", "words", 5, one), 0);
        assert_int_equal(cay_proof_mac(code, "daemon", "words", 5, two), 0);
        assert_memory_not_equal(one, two, sizeof(one));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(signatures_hold_for_one_role_and_text),
                cmocka_unit_test(keys_are_ed25519),
                cmocka_unit_test(codes_are_read_as_people_type_them),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
