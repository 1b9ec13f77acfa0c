/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses for names: each has its own, and an old one never leads to a new name. */
#include "domain/network/names.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

static void test_there_and_back(void **state)
{
        struct cay_names *n = cay_names_new();
        struct cay_address v4, v6, again, other;
        char text[CAY_ADDRESS_TEXT];

        assert_non_null(n);
        assert_int_equal(cay_names_address(n, "pypi.org", false, &v4), 0);
        assert_int_equal(cay_names_address(n, "pypi.org", true, &v6), 0);
        assert_int_equal(cay_names_address(n, "pypi.org", false, &again), 0);
        assert_int_equal(cay_names_address(n, "github.com", false, &other), 0);
        assert_string_equal(cay_address_text(&v4, text), "198.18.0.1");
        assert_string_equal(cay_address_text(&v6, text), "fdca:c0de::1");
        assert_memory_equal(&v4, &again, sizeof(v4));
        assert_string_equal(cay_names_find(n, &v4), "pypi.org");
        assert_string_equal(cay_names_find(n, &v6), "pypi.org");
        assert_string_equal(cay_names_find(n, &other), "github.com");
        assert_true(cay_names_is_one(&v4) && cay_names_is_one(&v6));
        cay_names_free(n);
}

static void test_others_are_not_ours(void **state)
{
        static const char *const not [] = { "198.18.0.2",     "198.17.0.1",      "198.20.0.1",
                                            "8.8.8.8",        "fdca:c0de::2",    "fdca:c0de::1:0:1",
                                            "fdca:c0de::2:1", "fdca:c0de:0:1::1" };
        struct cay_names *n = cay_names_new();
        struct cay_address a;

        cay_names_address(n, "pypi.org", false, &a);
        for (size_t i = 0; i < sizeof(not ) / sizeof(not [0]); i++) {
                assert_true(cay_address_parse(not [i], &a));
                if (cay_names_find(n, &a) != NULL)
                        fail_msg("%s", not [i]);
        }
        assert_true(cay_address_parse("198.19.255.255", &a) && cay_names_is_one(&a));
        assert_true(cay_address_parse("198.20.0.0", &a) && !cay_names_is_one(&a));
        cay_names_free(n);
}

/* Far more names than there is room for, and more than there are numbers. */
static void test_the_oldest_gives_way(void **state)
{
        struct cay_names *n = cay_names_new();
        struct cay_address kept, old, a;
        char name[32];

        cay_names_address(n, "kept.example", false, &kept);
        cay_names_address(n, "old.example", false, &old);
        for (unsigned i = 0; i < 200000; i++) {
                snprintf(name, sizeof(name), "n%u.example", i);
                assert_int_equal(cay_names_address(n, name, i % 2, &a), 0);
                assert_string_equal(cay_names_find(n, &a), name);
                if (i % 500 == 0)
                        assert_string_equal(cay_names_find(n, &kept), "kept.example"); /* in use */
                if (i == CAY_NAMES_MAX)
                        assert_null(cay_names_find(n, &old));
        }
        cay_names_free(n);
}

static void test_too_long(void **state)
{
        struct cay_names *n = cay_names_new();
        char name[CAY_POLICY_NAME_MAX + 2];
        struct cay_address a;

        memset(name, 'a', sizeof(name));
        name[CAY_POLICY_NAME_MAX + 1] = '\0';
        assert_int_equal(cay_names_address(n, name, false, &a), -1);
        name[CAY_POLICY_NAME_MAX] = '\0';
        assert_int_equal(cay_names_address(n, name, false, &a), 0);
        cay_names_free(n);
        cay_names_free(NULL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_there_and_back),
                cmocka_unit_test(test_others_are_not_ours),
                cmocka_unit_test(test_the_oldest_gives_way),
                cmocka_unit_test(test_too_long),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
