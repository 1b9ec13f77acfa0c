/* SPDX-License-Identifier: Apache-2.0 */
/* Users by number and by name, in passwd files of every quality. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "domain/model/user.h"

static struct cay_user parsed(const char *text)
{
        struct cay_user u;
        struct cay_error err = { 0 };

        if (cay_user_parse(text, &u, &err) < 0)
                fail_msg("%s", err.msg);
        return u;
}

static void by_number_and_by_known_name(void **state)
{
        assert_int_equal(parsed(NULL).uid, CAY_USER_DEFAULT);
        assert_string_equal(parsed(NULL).name, "sandbox");
        assert_int_equal(parsed("sandbox").gid, CAY_USER_DEFAULT);
        assert_int_equal(parsed("root").uid, 0);
        assert_int_equal(parsed("root").gid, 0);
        assert_int_equal(parsed("33").uid, 33);
        assert_int_equal(parsed("33").gid, 33);
        assert_string_equal(parsed("33").name, "");
        assert_int_equal(parsed("1001:100").uid, 1001);
        assert_int_equal(parsed("1001:100").gid, 100);
        assert_int_equal(parsed("65535").uid, 65535);
        assert_true(parsed("www-data").lookup);
        assert_string_equal(parsed("www-data").name, "www-data");
        assert_false(parsed("0:0").lookup);
}

/* The own user's number is as good as its name; with another group it is somebody else. */
static void its_own_number(void **state)
{
        static const char *const own[] = { "1001", "1001:1001", "sandbox" }, *const other[] = { "1001:0",
                                                                                                "1002",
                                                                                                "root" };

        for (unsigned i = 0; i < CAY_COUNT(own); i++) {
                struct cay_user a = parsed(own[i]), b = parsed(other[i]);

                cay_user_settle(&a);
                assert_int_equal(a.uid, CAY_USER_DEFAULT);
                assert_int_equal(a.gid, CAY_USER_DEFAULT);
                assert_string_equal(a.name, "sandbox");
                cay_user_settle(&b);
                assert_int_not_equal(b.uid, CAY_USER_DEFAULT);
        }
}

static void nonsense_is_refused(void **state)
{
        static const char *const bad[] = { "",    "65536", "1:",         "1:x",         ":1",
                                           "-1",  "a b",   "a:b",        "99999999999", "1x",
                                           "r/t", "1:2:3", "4294967295", "a\nroot",     "ä" };

        for (unsigned i = 0; i < CAY_COUNT(bad); i++) {
                struct cay_user u;
                struct cay_error err = { 0 };

                if (cay_user_parse(bad[i], &u, &err) == 0)
                        fail_msg("'%s' was accepted", bad[i]);
                assert_int_equal(err.code, CAY_INVALID);
        }
}

static int found(const char *name, const char *passwd, size_t len, struct cay_user *ret)
{
        struct cay_error err = { 0 };
        int r;

        *ret = parsed(name);
        r = cay_user_find(ret, passwd, len, &err);
        if (r < 0)
                assert_int_equal(err.code, CAY_NOT_FOUND);
        return r;
}

static void by_name(void **state)
{
        static const char file[] =
                "root:x:0:0:root:/root:/bin/sh\nbroken\n:::::\nbig:x:70000:1:::\nmin:x:5:60:a:b:c\n"
                "last:x:7:8::";
        struct cay_user u;

        assert_int_equal(found("min", file, sizeof(file) - 1, &u), 0);
        assert_int_equal(u.uid, 5);
        assert_int_equal(u.gid, 60);
        assert_false(u.lookup);
        assert_int_equal(found("last", file, sizeof(file) - 1, &u), 0);
        assert_int_equal(u.gid, 8);
        assert_int_equal(found("big", file, sizeof(file) - 1, &u), -1);
        assert_int_equal(found("broken", file, sizeof(file) - 1, &u), -1);
        assert_int_equal(found("mi", file, sizeof(file) - 1, &u), -1);
        assert_int_equal(found("mini", file, sizeof(file) - 1, &u), -1);
        assert_int_equal(found("any", "", 0, &u), -1);
        assert_int_equal(found("any", "\0\0\n\n:::", 7, &u), -1);
}

static void a_file_cut_anywhere_does_no_harm(void **state)
{
        static const char file[] = "one:x:1:1:::\ntwo:x:2:2:::\n";

        for (size_t len = 0; len < sizeof(file); len++) {
                char *copy = malloc(len + 1); /* exact, so that a sanitizer sees one byte too many */
                struct cay_user u;

                memcpy(copy, file, len);
                found("two", copy, len, &u);
                free(copy);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(by_number_and_by_known_name),
                cmocka_unit_test(its_own_number),
                cmocka_unit_test(nonsense_is_refused),
                cmocka_unit_test(by_name),
                cmocka_unit_test(a_file_cut_anywhere_does_no_harm),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
