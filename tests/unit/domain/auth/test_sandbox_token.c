/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens of one sandbox: the same every time, and different for each sandbox, use and secret. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "domain/auth/sandbox_token.h"

static const struct cay_secret one = { .bytes = "a secret of thirty-two bytes here", .len = 32 };
static const struct cay_secret other = { .bytes = "b secret of thirty-two bytes here", .len = 32 };

static void test_derived(void **state)
{
        char a[CAY_SANDBOX_TOKEN_LEN + 1], b[CAY_SANDBOX_TOKEN_LEN + 1];

        assert_int_equal(cay_sandbox_token_make(&one, CAY_SANDBOX_TOKEN_ACCESS, "abc", a), 0);
        assert_int_equal(strlen(a), CAY_SANDBOX_TOKEN_LEN);
        assert_int_equal(cay_sandbox_token_make(&one, CAY_SANDBOX_TOKEN_ACCESS, "abc", b), 0);
        assert_string_equal(a, b);
        assert_true(cay_sandbox_token_check(&one, CAY_SANDBOX_TOKEN_ACCESS, "abc", a));
        assert_false(cay_sandbox_token_check(&one, CAY_SANDBOX_TOKEN_TRAFFIC, "abc", a));
        assert_false(cay_sandbox_token_check(&one, CAY_SANDBOX_TOKEN_VOLUME, "abc", a));
        assert_false(cay_sandbox_token_check(&one, CAY_SANDBOX_TOKEN_ACCESS, "abd", a));
        assert_false(cay_sandbox_token_check(&other, CAY_SANDBOX_TOKEN_ACCESS, "abc", a));
        assert_false(cay_sandbox_token_check(&one, CAY_SANDBOX_TOKEN_ACCESS, "abc", ""));
        a[3] = a[3] == '0' ? '1' : '0';
        assert_false(cay_sandbox_token_check(&one, CAY_SANDBOX_TOKEN_ACCESS, "abc", a));
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_derived) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
