/* SPDX-License-Identifier: Apache-2.0 */
/* How much a locked layer pool has of a short disk, and how much it leaves. */
#include "cay-warden/room_pool_wish.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include <cmocka.h>

#define MIB (1ull << 20)
#define MARGIN (48 * MIB)
#define SLACK WARDEN_POOL_SLACK
#define SPARE WARDEN_POOL_SPARE
#define BESIDE WARDEN_POOL_BESIDE

static uint64_t take(uint64_t shared, uint64_t avail)
{
        struct warden_pool_wish wish = warden_pool_wish(shared, avail, MARGIN);

        return warden_pool_wish_take(&wish, 0, avail);
}

static uint64_t change(uint64_t shared, uint64_t has, uint64_t avail)
{
        struct warden_pool_wish wish = warden_pool_wish(shared, avail + has, MARGIN);

        return warden_pool_wish_change(&wish, has, avail);
}

/* Half of the rest, if there is much. */
static void test_takes_half(void **state)
{
        assert_int_equal(take(100 * MIB, MARGIN + 1100 * MIB), 100 * MIB + SLACK + 500 * MIB);
        assert_int_equal(take(0, MARGIN + 1000 * MIB), SLACK + 500 * MIB);
}

/* The front refuses whatever would use a disk at its margin: writes of anybody must not bring it there. */
static void test_leaves_some(void **state)
{
        for (uint64_t rest = 0; rest < 400; rest++) {
                uint64_t shared = 50 * MIB, avail = MARGIN + shared + rest * MIB, takes = take(shared, avail);

                assert_in_range(takes, shared, avail - MARGIN);
                if (takes > shared + SLACK)
                        assert_true(avail - takes >= MARGIN + BESIDE);
        }
        assert_int_equal(take(50 * MIB, MARGIN + 50 * MIB + 80 * MIB), 50 * MIB + 80 * MIB - BESIDE);
}

/* What is shared goes before what others may want. */
static void test_takes_what_it_needs(void **state)
{
        assert_int_equal(take(100 * MIB, MARGIN + 100 * MIB), 100 * MIB);
        assert_int_equal(take(100 * MIB, MARGIN + 108 * MIB), 108 * MIB);
        assert_true(take(100 * MIB, MARGIN + 99 * MIB) < 100 * MIB);
        assert_int_equal(take(100 * MIB, MARGIN / 2), 0);
}

/* More is shared: the same limits. A little more than it has is not worth a change. */
static void test_grows(void **state)
{
        uint64_t has = 100 * MIB;

        assert_int_equal(change(200 * MIB, has, MARGIN), has);
        assert_int_equal(change(200 * MIB, has, MARGIN + 4096), has + 4096);
        assert_int_equal(change(200 * MIB, has, MARGIN + 2000 * MIB), 200 * MIB + SLACK + 950 * MIB);
        assert_int_equal(change(50 * MIB, has, MARGIN + BESIDE + 10 * MIB), has + 10 * MIB);
        assert_int_equal(change(50 * MIB, has, MARGIN + BESIDE + 4096), has);
        assert_int_equal(change(50 * MIB, has, MARGIN + BESIDE / 2), has);
}

/* Layers freed much, or others filled the disk: what the pool has in excess is given to it. */
static void test_shrinks(void **state)
{
        uint64_t shared = 1000 * MIB, needed = shared + SLACK, less;

        assert_int_equal(change(50 * MIB, 600 * MIB, MARGIN), 50 * MIB + SLACK + 275 * MIB);
        assert_int_equal(change(shared, needed + 400 * MIB, MARGIN), needed + 400 * MIB);
        less = change(shared, needed + 400 * MIB, MARGIN - MIB);
        assert_in_range(less, needed + SPARE, needed + 300 * MIB);
        /* and does not come back at once */
        assert_int_equal(change(shared, less, MARGIN - MIB + needed + 400 * MIB - less), less);
        assert_int_equal(change(shared, needed + SPARE, 0), needed + SPARE);
        assert_int_equal(change(shared, shared, 0), shared);
}

/* Whatever is shared, free and written: it comes to rest, and nothing goes to and fro. */
static void test_rests(void **state)
{
        for (uint64_t shared = 1; shared < 3000; shared = shared * 3 / 2 + 1)
                for (uint64_t has = 0; has < 5000; has = has * 3 / 2 + 7)
                        for (uint64_t avail = 0; avail < 5000; avail = avail * 3 / 2 + 5) {
                                uint64_t h = has * MIB, a = avail * MIB;
                                unsigned changes = 0;

                                for (uint64_t to = 0; changes < 10; changes++, a = a + h - to, h = to) {
                                        to = change(shared * MIB, h, a);
                                        if (to == h)
                                                break;
                                        assert_true(to < h || to - h <= a - MARGIN);
                                }
                                assert_in_range(changes, 0, 3);
                        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_takes_half),
                cmocka_unit_test(test_leaves_some),
                cmocka_unit_test(test_takes_what_it_needs),
                cmocka_unit_test(test_grows),
                cmocka_unit_test(test_shrinks),
                cmocka_unit_test(test_rests),
        };

        return cmocka_run_group_tests_name("room_pool_wish", tests, NULL, NULL);
}
