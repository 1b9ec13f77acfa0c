/* SPDX-License-Identifier: Apache-2.0 */
/* Times and their quantiles. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cay/cli/bench_series.h"

static void quantiles_are_times_that_were(void **state)
{
        struct cay_series s;

        assert_true(cay_series_open(&s, 100));
        for (unsigned i = 0; i < 100; i++)
                cay_series_add(&s, (i * 37 % 100 + 1) * 10); /* 10 to 1000, in no order */
        assert_int_equal(cay_series_ns(&s, 50), 500);
        assert_int_equal(cay_series_ns(&s, 90), 900);
        assert_int_equal(cay_series_ns(&s, 99), 990);
        assert_int_equal(cay_series_ns(&s, 100), 1000);
        assert_int_equal(cay_series_ns(&s, 0), 10);
        cay_series_close(&s);
}

static void few_are_enough(void **state)
{
        struct cay_series s;

        assert_true(cay_series_open(&s, 3));
        assert_int_equal(cay_series_ns(&s, 50), 0);
        cay_series_add(&s, 7);
        assert_int_equal(cay_series_ns(&s, 50), 7);
        assert_int_equal(cay_series_ns(&s, 99), 7);
        cay_series_add(&s, 5);
        cay_series_add(&s, 9);
        assert_int_equal(cay_series_ns(&s, 50), 7);
        assert_int_equal(cay_series_ns(&s, 99), 9);
        cay_series_add(&s, 1); /* there is no more room */
        assert_int_equal(s.count, 3);
        assert_int_equal(cay_series_ns(&s, 0), 5);
        cay_series_close(&s);
        cay_series_close(&s);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(quantiles_are_times_that_were),
                                            cmocka_unit_test(few_are_enough) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
