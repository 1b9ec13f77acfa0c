/* SPDX-License-Identifier: Apache-2.0 */
/* The token clock: follows forward, never goes back, catches up. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "domain/auth/token_clock.h"

enum { HOUR = 3600 * 1000 };

static void follows_the_wall(void **state)
{
        struct cay_token_clock w;

        cay_token_clock_init(&w, 1000000, 50, 0);
        assert_int_equal(cay_token_clock_now_ms(&w, 1000000, 50), 1000000);
        assert_int_equal(cay_token_clock_now_ms(&w, 1000500, 550), 1000500);
        assert_int_equal(cay_token_clock_now_ms(&w, 1000500 + HOUR, 551), 1000500 + HOUR); /* set forward */
}

static void set_back_by_an_hour_never_goes_back(void **state)
{
        const uint64_t start = 100ull * HOUR;
        uint64_t last = start, wall = start - HOUR, mono = 0;
        struct cay_token_clock w;

        cay_token_clock_init(&w, start, 0, 0);
        /* Asked every odd few milliseconds, it is with the wall again after two hours. */
        while (mono < 2ull * HOUR) {
                uint64_t now;

                mono += 1777;
                wall += 1777;
                now = cay_token_clock_now_ms(&w, wall, mono);
                assert_true(now >= last);
                assert_true(now >= wall);
                last = now;
        }
        assert_int_equal(cay_token_clock_now_ms(&w, wall + 1, mono + 1), wall + 1);
}

static void asking_often_does_not_stop_it(void **state)
{
        struct cay_token_clock w;

        cay_token_clock_init(&w, HOUR, 0, 0);
        for (uint64_t mono = 1; mono <= 1000; mono++)
                cay_token_clock_now_ms(&w, mono, mono);
        assert_int_equal(cay_token_clock_now_ms(&w, 1000, 1000), HOUR + 500);
}

static void an_earlier_life_is_a_floor(void **state)
{
        struct cay_token_clock w;

        cay_token_clock_init(&w, 1000, 0, 5000);
        assert_int_equal(cay_token_clock_now_ms(&w, 1000, 0), 5000);
        assert_int_equal(cay_token_clock_now_ms(&w, 6000, 0), 6000);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(follows_the_wall),
                cmocka_unit_test(set_back_by_an_hour_never_goes_back),
                cmocka_unit_test(asking_often_does_not_stop_it),
                cmocka_unit_test(an_earlier_life_is_a_floor),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
