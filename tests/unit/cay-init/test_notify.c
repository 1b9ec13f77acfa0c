/* SPDX-License-Identifier: Apache-2.0 */
/* The list of denied calls: distinct ones, counts, bounds. (Real notifications: integration/init_exec.) */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cay-init/notify.h"

static void the_first_distinct_ones_are_kept(void **state)
{
        struct cay_notify n;

        cay_notify_init(&n);
        assert_int_equal(n.last, -1);
        for (int round = 0; round < 3; round++) {
                for (int nr = 100; nr < 120; nr++)
                        cay_notify_record(&n, nr);
        }
        assert_int_equal(n.denied_count, CAY_BOX_DENIED_MAX);
        for (uint32_t i = 0; i < n.denied_count; i++) {
                assert_int_equal(n.denied[i].nr, 100 + i);
                assert_int_equal(n.denied[i].count, 3);
        }
        assert_int_equal(n.last, 119); /* beyond the list, but the last */
        assert_int_equal(n.total, 60);
}

static void odd_numbers_do_no_harm(void **state)
{
        struct cay_notify n;

        cay_notify_init(&n);
        cay_notify_record(&n, -5);
        assert_int_equal(n.last, -1);
        assert_int_equal(n.denied_count, 0);
        assert_int_equal(n.total, 1);
        cay_notify_record(&n, INT32_MAX);
        assert_int_equal(n.last, INT32_MAX);
        cay_notify_stop(&n); /* never started */
        cay_notify_stop(&n);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(the_first_distinct_ones_are_kept),
                cmocka_unit_test(odd_numbers_do_no_harm),
        };

        return cmocka_run_group_tests_name("init/notify", tests, NULL, NULL);
}
