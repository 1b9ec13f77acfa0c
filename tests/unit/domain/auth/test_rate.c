/* SPDX-License-Identifier: Apache-2.0 */
/* The rate limit: bursts, refill, and that crowding the table resets nobody. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "domain/auth/rate.h"

static struct cay_rate *rate(uint64_t per_minute, uint64_t burst, unsigned keys)
{
        struct cay_rate *r = cay_rate_new(&(struct cay_rate_config){
                .per_minute = per_minute, .burst = burst, .keys = keys, .seed = { 1, 2, 3 } });

        assert_non_null(r);
        return r;
}

static bool take(struct cay_rate *r, const char *key, uint64_t at_ms)
{
        uint64_t wait_ms;

        return cay_rate_take(r, key, at_ms, &wait_ms);
}

static void a_burst_then_the_rate(void **state)
{
        cay_auto(cay_rate_freep) struct cay_rate *r = rate(60, 3, 0);
        uint64_t wait_ms = 0;

        assert_true(take(r, "a", 1000));
        assert_true(take(r, "a", 1000));
        assert_true(take(r, "a", 1000));
        assert_false(cay_rate_take(r, "a", 1000, &wait_ms));
        assert_int_equal(wait_ms, 1000);
        assert_true(take(r, "b", 1000)); /* another key has its own */
        assert_false(cay_rate_take(r, "a", 1999, &wait_ms));
        assert_int_equal(wait_ms, 1);
        assert_true(take(r, "a", 2000));
        assert_false(take(r, "a", 2000));
        /* A long rest gives a burst, no more. */
        for (int i = 0; i < 3; i++)
                assert_true(take(r, "a", 10000000));
        assert_false(take(r, "a", 10000000));
}

static void asking_often_costs_nothing(void **state)
{
        cay_auto(cay_rate_freep) struct cay_rate *r = rate(7, 1, 0);
        unsigned given = 0;

        for (uint64_t ms = 0; ms < 600000; ms++)
                given += take(r, "a", ms);
        assert_in_range(given, 70, 71); /* exact, however it was asked for */
}

static void zero_is_no_limit(void **state)
{
        cay_auto(cay_rate_freep) struct cay_rate *r = rate(0, 0, 0);

        for (int i = 0; i < 100000; i++)
                assert_true(take(r, "a", 1));
}

static void a_clock_that_stands_or_goes_back_gives_nothing(void **state)
{
        cay_auto(cay_rate_freep) struct cay_rate *r = rate(60, 1, 0);

        assert_true(take(r, "a", 5000));
        assert_false(take(r, "a", 4000));
        assert_false(take(r, "a", 5000));
        assert_false(take(r, "a", 5999));
        assert_true(take(r, "a", 6000));
}

/* The attack: spend the limit, push the own entry out with other keys, be fresh again. */
static void crowding_does_not_reset(void **state)
{
        cay_auto(cay_rate_freep) struct cay_rate *r = rate(60, 5, 64);
        unsigned passed = 0;

        for (int i = 0; i < 5; i++)
                assert_true(take(r, "victim", 1000));
        for (int i = 0; i < 20000; i++) {
                char key[32];

                snprintf(key, sizeof(key), "k%d", i);
                passed += take(r, key, 1000);
                assert_false(take(r, "victim", 1000));
        }
        /* Places (64) with a fresh burst each would be one request per key; the rest share 8 buckets of 5. */
        assert_true(passed <= 64 + 8 * 5);
        assert_true(passed >= 64);
}

static void a_place_is_free_again_when_its_bucket_is_full(void **state)
{
        cay_auto(cay_rate_freep) struct cay_rate *r = rate(60, 1, 8);
        char key[32];

        for (int round = 0; round < 5; round++) {
                for (int i = 0; i < 8; i++) {
                        snprintf(key, sizeof(key), "r%d-%d", round, i);
                        assert_true(take(r, key, 1000 + (uint64_t)round * 1000));
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_burst_then_the_rate),
                cmocka_unit_test(asking_often_costs_nothing),
                cmocka_unit_test(zero_is_no_limit),
                cmocka_unit_test(a_clock_that_stands_or_goes_back_gives_nothing),
                cmocka_unit_test(crowding_does_not_reset),
                cmocka_unit_test(a_place_is_free_again_when_its_bucket_is_full),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
