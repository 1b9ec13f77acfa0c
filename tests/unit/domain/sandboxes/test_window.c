/* SPDX-License-Identifier: Apache-2.0 */
/* Quantiles of the last hour: how exact, and what is the last hour. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "domain/sandboxes/window.h"

#define MINUTE 60000ull

static struct cay_window w;

static int set_up(void **state)
{
        w = (struct cay_window){ 0 };
        (void)state;
        return 0;
}

static struct cay_window_figures hour(uint64_t now_ms)
{
        struct cay_window_figures f = { .count = 99 };

        cay_window_hour(&w, now_ms, &f);
        return f;
}

static void test_nothing(void **state)
{
        struct cay_window_figures f = hour(0);

        assert_int_equal(f.count, 0);
        assert_int_equal(f.p99_us, 0);
        assert_false(cay_window_minute(&w, 0, 0, &f));
        assert_false(cay_window_minute(&w, 1000 * MINUTE, 5, &f));
        assert_false(cay_window_minute(&w, 1000 * MINUTE, CAY_WINDOW_MINUTES, &f));
        (void)state;
}

/*
 * One value is itself, whatever its size: no quantile lies above the longest time, or below an eighth less.
 */
static void test_one_value(void **state)
{
        for (uint64_t us = 0; us < 1ull << 34; us = us * 5 / 4 + 1) {
                struct cay_window_figures f;

                set_up(state);
                cay_window_add(&w, 7, us);
                f = hour(7);
                assert_int_equal(f.count, 1);
                assert_int_equal(f.max_us, us);
                assert_int_equal(f.p50_us, us);
                assert_int_equal(f.p99_us, us);
        }
}

/* Against the values themselves, sorted: never off by more than a bucket's width. */
static void near(uint64_t got, uint64_t wanted)
{
        if (got + got / 8 + 8 < wanted || got > wanted + wanted / 8 + 8)
                fail_msg("%llu is not near %llu", (unsigned long long)got, (unsigned long long)wanted);
}

static int by_size(const void *a, const void *b)
{
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

        return (x > y) - (x < y);
}

static void test_many_values(void **state)
{
        enum { COUNT = 5000 };
        static uint64_t values[COUNT];
        struct cay_window_figures f;
        uint64_t x = 88172645463325252ull;

        for (unsigned i = 0; i < COUNT; i++) {
                x ^= x << 13;
                x ^= x >> 7;
                x ^= x << 17;
                values[i] = (x >> 8) % (1ull << (x % 30));
                cay_window_add(&w, i * 500, values[i]); /* over 41 minutes */
        }
        qsort(values, COUNT, sizeof(values[0]), by_size);
        f = hour(COUNT * 500ull);
        assert_int_equal(f.count, COUNT);
        near(f.p50_us, values[COUNT / 2 - 1]);
        near(f.p99_us, values[COUNT / 100 * 99 - 1]);
        assert_int_equal(f.max_us, values[COUNT - 1]);
        (void)state;
}

static void test_what_is_old_goes(void **state)
{
        const uint64_t then = 5 * MINUTE + 59999;
        struct cay_window_figures f;

        cay_window_add(&w, then, 1000);
        assert_int_equal(hour(then + 59 * MINUTE).count, 1);
        assert_int_equal(hour(then + 59 * MINUTE + 1).count, 0); /* not overwritten, and not counted */
        assert_int_equal(hour(then + 600 * MINUTE).count, 0);
        assert_true(cay_window_minute(&w, then + 3 * MINUTE, 3, &f));
        assert_int_equal(f.count, 1);
        assert_false(cay_window_minute(&w, then + 3 * MINUTE, 2, &f));
        cay_window_add(&w, then + 60 * MINUTE, 77); /* the same place */
        f = hour(then + 60 * MINUTE);
        assert_int_equal(f.count, 1);
        assert_int_equal(f.max_us, 77);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup(test_nothing, set_up),
                cmocka_unit_test_setup(test_one_value, set_up),
                cmocka_unit_test_setup(test_many_values, set_up),
                cmocka_unit_test_setup(test_what_is_old_goes, set_up),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
