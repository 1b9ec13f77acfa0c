/* SPDX-License-Identifier: Apache-2.0 */
/* Tokens come with time, up to the burst, and slow looks lose none. */
#include "cay-net/bucket.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define MS 1000000ull

static void it_begins_full_and_fills_with_time(void **state)
{
        struct net_bucket b;

        net_bucket_set(&b, 1000, 200, 5 * MS);
        assert_int_equal(net_bucket_look(&b, 5 * MS), 200);
        net_bucket_take(&b, 150);
        assert_int_equal(net_bucket_look(&b, 5 * MS), 50);
        assert_int_equal(net_bucket_look(&b, 15 * MS), 60);
        assert_int_equal(net_bucket_look(&b, 10000 * MS), 200); /* never more than the burst */
        net_bucket_take(&b, 1000);                              /* more than there are */
        assert_int_equal(net_bucket_look(&b, 10000 * MS), 0);
        assert_int_equal(net_bucket_look(&b, 100000 * MS), 200);
}

static void looking_often_loses_nothing(void **state)
{
        struct net_bucket b;

        net_bucket_set(&b, 10, 20, 0);
        net_bucket_take(&b, 20);
        for (uint64_t ms = 1; ms <= 1000; ms++) /* each look alone is less than a token */
                net_bucket_look(&b, ms * MS);
        assert_int_equal(net_bucket_look(&b, 1000 * MS), 10);
}

static void without_a_rate_there_is_no_limit(void **state)
{
        struct net_bucket b;

        net_bucket_set(&b, 0, 0, 0);
        net_bucket_take(&b, 1000000);
        assert_true(net_bucket_look(&b, 0) == UINT64_MAX);
}

static void the_largest_rate_does_not_overflow(void **state)
{
        struct net_bucket b;

        net_bucket_set(&b, UINT64_MAX / 2, UINT64_MAX / 2, 0);
        net_bucket_take(&b, UINT64_MAX / 2);
        assert_true(net_bucket_look(&b, 500 * MS) >= UINT64_MAX / 5);
        assert_true(net_bucket_look(&b, 50000 * MS) == UINT64_MAX / 2);
        net_bucket_look(&b, 1); /* a clock that went back */
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(it_begins_full_and_fills_with_time),
                cmocka_unit_test(looking_often_loses_nothing),
                cmocka_unit_test(without_a_rate_there_is_no_limit),
                cmocka_unit_test(the_largest_rate_does_not_overflow),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
