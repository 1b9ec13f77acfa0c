/* SPDX-License-Identifier: Apache-2.0 */
/* Clocks: the units agree, the monotonic one never goes back. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <time.h>

#include "foundation/base/clock.h"

static void test_units_agree(void **state)
{
        uint64_t before = cay_clock_ns(), ms = cay_clock_ms(), after = cay_clock_ns();

        assert_true(ms >= before / 1000000 && ms <= after / 1000000);
}

static void test_never_back(void **state)
{
        uint64_t last = cay_clock_ns();

        for (int i = 0; i < 10000; i++) {
                uint64_t now = cay_clock_ns();

                assert_true(now >= last);
                last = now;
        }
}

static void test_wall(void **state)
{
        uint64_t before = (uint64_t)time(NULL), wall = cay_clock_wall_ms() / 1000,
                 after = (uint64_t)time(NULL);

        assert_in_range(wall, before, after + 1); /* time() is a tick late */
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_units_agree),
                cmocka_unit_test(test_never_back),
                cmocka_unit_test(test_wall),
        };

        return cmocka_run_group_tests_name("base/clock", tests, NULL, NULL);
}
