/* SPDX-License-Identifier: Apache-2.0 */
/* The store's time through restarts and set clocks. security.md 2.5, row "clock". */

#include "unit/daemon/store/store_test.h"

enum { HOUR = 3600 * 1000 };

static struct fixture f;

static uint64_t now(void)
{
        return f.store->ops->now_ms(f.store);
}

static void the_wall_does_not_move_it(void **state)
{
        uint64_t start = now();

        f.clock.now.boot_ms += 1000;
        f.clock.now.wall_ms += HOUR;
        assert_int_equal(now(), start + 1000);
        f.clock.now.wall_ms -= 100ull * HOUR;
        assert_int_equal(now(), start + 1000);
}

static void a_restart_goes_on(void **state)
{
        uint64_t start = now();

        f.clock.now.boot_ms += 5000;
        close_store(&f);
        f.clock.now.boot_ms += 7000; /* down for 7 s, and somebody sets the clock meanwhile */
        f.clock.now.wall_ms += 1000ull * HOUR;
        must_open(&f);
        assert_int_equal(now(), start + 12000);
}

static void a_reboot_goes_on_by_the_wall(void **state)
{
        uint64_t start = now();

        close_store(&f);
        f.clock.now = (struct cay_clock_reading){ .wall_ms = f.clock.now.wall_ms + HOUR,
                                                  .boot_ms = 10,
                                                  .boot_id = "boot-2" };
        must_open(&f);
        assert_int_equal(now(), start + HOUR);
        /* and back in time: no time at all */
        close_store(&f);
        f.clock.now = (struct cay_clock_reading){ .wall_ms = 5, .boot_ms = 1, .boot_id = "boot-3" };
        must_open(&f);
        assert_int_equal(now(), start + HOUR);
}

/* The mark is renewed as time goes by: a reboot counts from the last work, not from the start. */
static void work_renews_the_mark(void **state)
{
        uint64_t start = now();
        struct cay_store_batch *b;

        f.clock.now.boot_ms += 10ull * HOUR; /* the wall clock stood still meanwhile */
        b = f.store->ops->begin(f.store);
        put_sandbox(&f, b, "a");
        assert_int_equal(commit(&f, b), CAY_OK);
        close_store(&f);
        f.clock.now = (struct cay_clock_reading){ .wall_ms = f.clock.now.wall_ms,
                                                  .boot_ms = 1,
                                                  .boot_id = "boot-2" };
        must_open(&f);
        assert_int_equal(now(), start + 10ull * HOUR);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                STORE_TEST(the_wall_does_not_move_it),
                STORE_TEST(a_restart_goes_on),
                STORE_TEST(a_reboot_goes_on_by_the_wall),
                STORE_TEST(work_renews_the_mark),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
