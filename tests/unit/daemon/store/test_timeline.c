/* SPDX-License-Identifier: Apache-2.0 */
/* The store's time: what moves it and what does not. security.md 2.5, row "clock". */

#include "unit/daemon/store/store_test.h"

#include "daemon/store/timeline.h"

enum { HOUR = 3600 * 1000 };

static const struct cay_timeline_mark last = {
        .store_ms = 5000000, .at = { .wall_ms = 900000000, .boot_ms = 1000, .boot_id = "b1" }
};

static void a_new_store_starts_with_the_wall(void **state)
{
        assert_int_equal(cay_timeline_resume(NULL, &last.at), 900000000);
}

static void in_one_boot_only_the_boot_clock_counts(void **state)
{
        struct cay_clock_reading now = { .wall_ms = 900000000 + 100ull * HOUR,
                                         .boot_ms = 3000,
                                         .boot_id = "b1" };

        assert_int_equal(cay_timeline_resume(&last, &now), 5002000);
        now.wall_ms = 1;
        assert_int_equal(cay_timeline_resume(&last, &now), 5002000);
}

static void across_boots_the_wall_counts_forward_only(void **state)
{
        struct cay_clock_reading now = { .wall_ms = 900000000 + HOUR, .boot_ms = 3000, .boot_id = "b2" };

        assert_int_equal(cay_timeline_resume(&last, &now), 5000000 + HOUR);
        now.wall_ms = 900000000 - HOUR;
        assert_int_equal(cay_timeline_resume(&last, &now), 5000000);
        /* A boot clock that is younger under the same name is not believed. */
        now = (struct cay_clock_reading){ .wall_ms = 900000007, .boot_ms = 999, .boot_id = "b1" };
        assert_int_equal(cay_timeline_resume(&last, &now), 5000007);
        /* Without a name there is no telling. */
        now = (struct cay_clock_reading){ .wall_ms = 900000009, .boot_ms = 2000 };
        assert_int_equal(cay_timeline_resume(&last, &now), 5000009);
}

static void text_and_back(void **state)
{
        char text[CAY_TIMELINE_TEXT_MAX];
        struct cay_timeline_mark m;

        cay_timeline_text(&last, text);
        assert_int_equal(cay_timeline_parse(text, &m), 0);
        assert_int_equal(m.store_ms, last.store_ms);
        assert_int_equal(m.at.wall_ms, last.at.wall_ms);
        assert_int_equal(m.at.boot_ms, last.at.boot_ms);
        assert_string_equal(m.at.boot_id, "b1");
        assert_true(cay_timeline_parse("", &m) < 0);
        assert_true(cay_timeline_parse("1 2", &m) < 0);
        assert_true(cay_timeline_parse("1 x 3 b", &m) < 0);
        assert_true(cay_timeline_parse("99999999999999999999999999 2 3 b", &m) < 0);
        assert_int_equal(cay_timeline_parse("1 2 3 ", &m), 0);
}

static void the_machine_s_clock(void **state)
{
        struct cay_clock_reading a, b;

        cay_store_system_clock.read(&cay_store_system_clock, &a);
        cay_store_system_clock.read(&cay_store_system_clock, &b);
        assert_true(b.boot_ms >= a.boot_ms);
        assert_true(a.wall_ms > 1500000000000);
        assert_string_equal(a.boot_id, b.boot_id);
        assert_int_equal(strlen(a.boot_id), 36);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_new_store_starts_with_the_wall),
                cmocka_unit_test(in_one_boot_only_the_boot_clock_counts),
                cmocka_unit_test(across_boots_the_wall_counts_forward_only),
                cmocka_unit_test(text_and_back),
                cmocka_unit_test(the_machine_s_clock),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
