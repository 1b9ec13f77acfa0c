/* SPDX-License-Identifier: Apache-2.0 */
/* What a sandbox used: rates between points, boxes that were started again, and how much is kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "domain/sandboxes/history.h"

static struct cay_history h;

static int set_up(void **state)
{
        (void)state;
        h = (struct cay_history){ 0 };
        return 0;
}

static void add(uint64_t s, uint64_t cpu_us, uint64_t loopback)
{
        const struct cay_engine_stats stats = {
                .memory_bytes = 1000 + s, .pids = 3, .cpu_us = cpu_us, .loopback_bytes = loopback
        };

        cay_history_add(&h, 1 + s * 1000, 5000 + s, &stats);
}

static void rates_are_of_the_time_between(void **state)
{
        (void)state;
        assert_null(cay_history_at(&h, 0));
        add(0, 700000, 50);
        assert_int_equal(cay_history_at(&h, 0)->cpu_milli, 0); /* over an unknown time */
        add(10, 5700000, 1050);
        assert_int_equal(h.count, 2);
        assert_int_equal(cay_history_at(&h, 1)->cpu_milli, 500); /* 5 s of 10 */
        assert_int_equal(cay_history_at(&h, 1)->loopback_per_s, 100);
        assert_int_equal(cay_history_at(&h, 1)->memory_bytes, 1010);
        assert_int_equal(cay_history_at(&h, 1)->pids, 3);
        assert_int_equal(cay_history_at(&h, 1)->wall_ms, 5010);
        assert_null(cay_history_at(&h, 2));
}

static void a_box_that_was_started_again_counts_from_zero(void **state)
{
        (void)state;
        add(0, 9000000, 9000);
        add(10, 1000000, 100);
        assert_int_equal(cay_history_at(&h, 1)->cpu_milli, 100);
        assert_int_equal(cay_history_at(&h, 1)->loopback_per_s, 10);
}

static void the_newest_are_kept(void **state)
{
        (void)state;
        for (unsigned i = 0; i < CAY_HISTORY_POINTS + 7; i++)
                add(i, i, 0);
        assert_int_equal(h.count, CAY_HISTORY_POINTS);
        assert_int_equal(cay_history_at(&h, 0)->wall_ms, 5007);
        assert_int_equal(cay_history_at(&h, CAY_HISTORY_POINTS - 1)->wall_ms, 5000 + CAY_HISTORY_POINTS + 6);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(rates_are_of_the_time_between, set_up),
                cmocka_unit_test_setup(a_box_that_was_started_again_counts_from_zero, set_up),
                cmocka_unit_test_setup(the_newest_are_kept, set_up),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
