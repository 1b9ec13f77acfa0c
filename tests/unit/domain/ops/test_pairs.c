/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "domain/ops/pairs.h"

static char text[200];
static struct cay_field_pair pairs[3];

static int read_pairs(const char *from, struct cay_error *err)
{
        *err = (struct cay_error){ 0 };
        snprintf(text, sizeof(text), "%s", from);
        return cay_op_pairs_read(text, pairs, CAY_COUNT(pairs), "field", err);
}

static void test_pairs(void **state)
{
        struct cay_error err;

        (void)state;
        assert_int_equal(read_pairs("", &err), 0);
        assert_int_equal(read_pairs("a=b&c%20d=%3d%26%25&e=", &err), 3);
        assert_string_equal(pairs[0].name, "a");
        assert_string_equal(pairs[0].value, "b");
        assert_string_equal(pairs[1].name, "c d");
        assert_string_equal(pairs[1].value, "=&%");
        assert_string_equal(pairs[2].value, "");
}

static void test_refusals(void **state)
{
        static const char *const bad[] = { "a",     "=b",   "a=b&c", "a=%4",
                                           "a=%zz", "a%=b", "a=%00", "a=1&b=2&c=3&d=4" };
        struct cay_error err;

        (void)state;
        for (size_t i = 0; i < CAY_COUNT(bad); i++) {
                assert_int_equal(read_pairs(bad[i], &err), -1);
                assert_int_equal(err.code, CAY_INVALID);
                assert_ptr_equal(strstr(err.msg, "field: "), err.msg);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_pairs), cmocka_unit_test(test_refusals) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
