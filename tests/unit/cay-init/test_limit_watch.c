/* SPDX-License-Identifier: Apache-2.0 */
/* What a share of the processors allows. That the watch works is seen in the tests of ordinary users. */
#include "cay-init/limit_watch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static void test_share(void **state)
{
        /* half a processor: after a second, half a second and a little */
        assert_false(cay_limit_watch_is_ahead(1000000, 500000, 500));
        assert_false(cay_limit_watch_is_ahead(1000000, 540000, 500));
        assert_true(cay_limit_watch_is_ahead(1000000, 541000, 500));
        /* short commands are not stopped at all */
        assert_false(cay_limit_watch_is_ahead(0, 40000, 500));
        assert_true(cay_limit_watch_is_ahead(0, 40001, 500));
        /* two processors */
        assert_false(cay_limit_watch_is_ahead(1000000, 2000000, 2000));
        assert_true(cay_limit_watch_is_ahead(1000000, 2050000, 2000));
}

/* A year of work on a thousand processors is no overflow. */
static void test_long(void **state)
{
        const uint64_t year_us = 365ull * 24 * 3600 * 1000000;

        assert_false(cay_limit_watch_is_ahead(year_us, 1024 * year_us, 1024000));
        assert_true(cay_limit_watch_is_ahead(year_us, 1025 * year_us, 1024000));
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_share), cmocka_unit_test(test_long) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
