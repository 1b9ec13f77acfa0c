/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/auth/journal_chain.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static const uint8_t zeros[CAY_DIGEST_SIZE];

static const struct cay_chain_event usual = {
        .sandbox = "box", .owner = "me", .kind = "sandbox_paused", .detail = "{}", .wall_ms = 1700000000123ull
};

/*
 * Computed by another implementation: python3 -c with hashlib and struct.pack(">Q", …) over the bytes that
 * the header names.
 */
static void test_bytes(void **state)
{
        uint8_t hash[CAY_DIGEST_SIZE];
        char text[2 * CAY_DIGEST_SIZE + 1];

        assert_int_equal(cay_chain_hash(zeros, &usual, hash), 0);
        cay_digest_text(hash, text);
        assert_string_equal(text, "87309785c96ec2bc4a112a2877f8446ae9f24bf7dc73dfac450512e2a6d1d7d3");
}

/* Every member counts, and so does where one ends and the next begins. */
static void test_everything_counts(void **state)
{
        struct cay_chain_event e[] = { usual, usual, usual, usual, usual, usual, usual };
        uint8_t hash[CAY_DIGEST_SIZE], other[CAY_DIGEST_SIZE], before[CAY_DIGEST_SIZE] = { 1 };

        e[0].sandbox = "bo";
        e[1].owner = "xme";
        e[2].kind = "sandbox_resumed";
        e[3].detail = "{ }";
        e[4].wall_ms++;
        e[5].sandbox = "boxm";
        e[5].owner = "e";
        e[6].detail = NULL;
        assert_int_equal(cay_chain_hash(zeros, &usual, hash), 0);
        for (size_t i = 0; i < sizeof(e) / sizeof(e[0]); i++) {
                assert_int_equal(cay_chain_hash(zeros, &e[i], other), 0);
                assert_memory_not_equal(hash, other, sizeof(hash));
        }
        assert_int_equal(cay_chain_hash(before, &usual, other), 0);
        assert_memory_not_equal(hash, other, sizeof(hash));
}

static void test_pieces(void **state)
{
        struct cay_digest *d = cay_digest_new();
        uint8_t whole[CAY_DIGEST_SIZE], pieces[CAY_DIGEST_SIZE];

        assert_non_null(d);
        assert_int_equal(cay_digest_sha256("one two", 7, whole), 0);
        assert_int_equal(cay_digest_add(d, "one", 3), 0);
        assert_int_equal(cay_digest_add(d, "", 0), 0);
        assert_int_equal(cay_digest_add(d, " two", 4), 0);
        assert_int_equal(cay_digest_end(d, pieces), 0);
        assert_memory_equal(whole, pieces, sizeof(whole));
        cay_digest_free(d);
        cay_digest_free(NULL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_bytes),
                cmocka_unit_test(test_everything_counts),
                cmocka_unit_test(test_pieces),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
