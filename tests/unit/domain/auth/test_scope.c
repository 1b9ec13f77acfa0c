/* SPDX-License-Identifier: Apache-2.0 */
/* Scopes, owners, and who may see what. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "domain/auth/scope.h"

static unsigned parsed(const char *text)
{
        struct cay_error err = { 0 };
        unsigned s = 0;

        if (cay_scope_parse(text, &s, &err) < 0)
                fail_msg("'%s': %s", text, err.msg);
        return s;
}

static void each_scope_holds_the_narrower(void **state)
{
        assert_int_equal(parsed("read"), CAY_SCOPE_READ);
        assert_int_equal(parsed("exec"), CAY_SCOPE_READ | CAY_SCOPE_EXEC);
        assert_int_equal(parsed("admin"), CAY_SCOPE_ALL);
        assert_int_equal(parsed("read exec"), parsed("exec"));
        assert_int_equal(parsed("read, admin"), CAY_SCOPE_ALL);
        assert_string_equal(cay_scope_text(parsed("exec")), "exec");
        assert_string_equal(cay_scope_text(CAY_SCOPE_ALL), "admin");
        assert_string_equal(cay_scope_text(CAY_SCOPE_READ), "read");
        assert_string_equal(cay_scope_text(CAY_SCOPE_EXEC), "exec"); /* what an op needs is one bit */
        assert_string_equal(cay_scope_text(CAY_SCOPE_ADMIN), "admin");
        assert_string_equal(cay_scope_text(0), "none");
        assert_true(cay_scope_has(CAY_SCOPE_ALL, CAY_SCOPE_EXEC));
        assert_false(cay_scope_has(CAY_SCOPE_READ, CAY_SCOPE_EXEC));
        assert_false(cay_scope_has(CAY_SCOPE_READ, CAY_SCOPE_READ | CAY_SCOPE_ADMIN));
}

static void other_words_are_refused(void **state)
{
        static const char *const bad[] = { "", " ", ",", "Read", "write", "readexec", "read exec root" };

        for (size_t i = 0; i < CAY_COUNT(bad); i++) {
                struct cay_error err = { 0 };
                unsigned s = 99;

                assert_int_equal(cay_scope_parse(bad[i], &s, &err), -1);
                assert_int_equal(err.code, CAY_INVALID);
                assert_int_equal(s, 99);
        }
}

static void owners_are_plain_words(void **state)
{
        char longest[CAY_OWNER_MAX + 2];

        assert_true(cay_owner_is_valid("alice@example.com"));
        assert_true(cay_owner_is_valid("uid:1000"));
        assert_false(cay_owner_is_valid(""));
        assert_false(cay_owner_is_valid("a b"));
        assert_false(cay_owner_is_valid("a/b"));
        assert_false(cay_owner_is_valid("a\nb"));
        assert_false(cay_owner_is_valid("\xc3\xa9"));
        memset(longest, 'a', sizeof(longest));
        longest[CAY_OWNER_MAX] = '\0';
        assert_true(cay_owner_is_valid(longest));
        longest[CAY_OWNER_MAX] = 'a';
        longest[CAY_OWNER_MAX + 1] = '\0';
        assert_false(cay_owner_is_valid(longest));
}

static void unix_peers(void **state)
{
        struct cay_caller c;

        cay_caller_from_uid(&c, 1000, 990);
        assert_string_equal(c.owner, "uid:1000");
        assert_int_equal(c.scopes, CAY_SCOPE_READ | CAY_SCOPE_EXEC);
        cay_caller_from_uid(&c, 990, 990);
        assert_int_equal(c.scopes, CAY_SCOPE_ALL);
        cay_caller_from_uid(&c, 0, 990);
        assert_string_equal(c.owner, "uid:0");
        assert_int_equal(c.scopes, CAY_SCOPE_ALL);
        cay_caller_from_uid(&c, UINT32_MAX, 990);
        assert_true(cay_owner_is_valid(c.owner));
}

static void doors_have_words(void **state)
{
        struct cay_caller c;

        cay_caller_from_uid(&c, 7, 990);
        assert_int_equal(c.credential, CAY_CREDENTIAL_PEER);
        assert_string_equal(cay_credential_word(c.credential), "peer");
        assert_string_equal(cay_credential_word(CAY_CREDENTIAL_SESSION), "session");
        assert_string_equal(cay_credential_word(CAY_CREDENTIAL_COUNT), "none");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_scope_holds_the_narrower),
                cmocka_unit_test(other_words_are_refused),
                cmocka_unit_test(owners_are_plain_words),
                cmocka_unit_test(unix_peers),
                cmocka_unit_test(doors_have_words),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
