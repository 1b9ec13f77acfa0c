/* SPDX-License-Identifier: Apache-2.0 */
/* Digests against published values (FIPS 180-4, RFC 4231). */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "domain/auth/digest.h"

static void hex(const uint8_t *bytes, size_t len, char *ret)
{
        for (size_t i = 0; i < len; i++)
                snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
}

static void sha256_of_abc(void **state)
{
        uint8_t d[CAY_DIGEST_SIZE];
        char text[65];

        assert_int_equal(cay_digest_sha256("abc", 3, d), 0);
        hex(d, sizeof(d), text);
        assert_string_equal(text, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void hmac_of_rfc_4231(void **state)
{
        struct cay_secret key = { .bytes = "Jefe", .len = 4 };
        const char data[] = "what do ya want for nothing?";
        uint8_t d[CAY_DIGEST_SIZE];
        char text[65];

        assert_int_equal(cay_digest_hmac(&key, data, strlen(data), d), 0);
        hex(d, sizeof(d), text);
        assert_string_equal(text, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
}

static void random_differs(void **state)
{
        uint8_t a[32] = { 0 }, b[32] = { 0 };

        assert_int_equal(cay_digest_random(a, sizeof(a)), 0);
        assert_int_equal(cay_digest_random(b, sizeof(b)), 0);
        assert_false(cay_digest_equal(a, b, sizeof(a)));
        assert_true(cay_digest_equal(a, a, sizeof(a)));
        cay_digest_wipe(a, sizeof(a));
        memset(b, 0, sizeof(b));
        assert_true(cay_digest_equal(a, b, sizeof(a)));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(sha256_of_abc),
                cmocka_unit_test(hmac_of_rfc_4231),
                cmocka_unit_test(random_differs),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
