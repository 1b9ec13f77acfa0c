/* SPDX-License-Identifier: Apache-2.0 */
/* One at a time, and where the pointer is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "domain/desktop/seats.h"

static void one_at_a_time(void **state)
{
        struct cay_seats *s = cay_seats_new();
        int a, b;

        (void)state;
        assert_true(cay_seat_take(s, "box", &a, 1000));
        assert_false(cay_seat_take(s, "box", &b, 1001));
        assert_true(cay_seat_take(s, "other", &b, 1001));
        assert_true(cay_seat_take(s, "box", &a, 3000));
        assert_false(cay_seat_take(s, "box", &b, 3000 + CAY_SEAT_IDLE_MS - 1));
        assert_true(cay_seat_take(s, "box", &b, 3000 + CAY_SEAT_IDLE_MS));
        assert_false(cay_seat_take(s, "box", &a, 6001));
        cay_seat_leave(s, "box", &a); /* it has none */
        assert_false(cay_seat_take(s, "box", &a, 6002));
        cay_seat_leave(s, "box", &b);
        assert_true(cay_seat_take(s, "box", &a, 6003));
        assert_true(cay_seat_take(NULL, "box", &b, 6003));
        cay_seats_free(s);
}

static void a_pressed_key_keeps_it(void **state)
{
        struct cay_seats *s = cay_seats_new();
        int a, b;

        (void)state;
        assert_true(cay_seat_take(s, "box", &a, 1000));
        cay_seat_hold(s, "box", &b, true); /* it has none */
        assert_true(cay_seat_take(s, "box", &b, 1000 + CAY_SEAT_IDLE_MS));
        cay_seat_leave(s, "box", &b);
        assert_true(cay_seat_take(s, "box", &a, 1000));
        cay_seat_hold(s, "box", &a, true);
        assert_false(cay_seat_take(s, "box", &b, 1000 + CAY_SEAT_IDLE_MS));
        assert_false(cay_seat_take(s, "box", &b, 1000 + CAY_SEAT_HELD_MS - 1));
        cay_seat_hold(s, "box", &a, false);
        assert_true(cay_seat_take(s, "box", &b, 1000 + CAY_SEAT_HELD_MS - 1));
        /* Not for ever, and the next one holds nothing yet. */
        cay_seat_hold(s, "box", &b, true);
        assert_true(cay_seat_take(s, "box", &a, 200000));
        assert_true(cay_seat_take(s, "box", &b, 200000 + CAY_SEAT_IDLE_MS));
        cay_seats_free(s);
}

static void the_oldest_is_forgotten(void **state)
{
        struct cay_seats *s = cay_seats_new();
        unsigned x = 0, y = 0;
        char name[16];

        (void)state;
        for (unsigned i = 0; i < CAY_SEATS_MAX; i++) {
                snprintf(name, sizeof(name), "box%u", i);
                cay_seat_point(s, name, i, 2 * i, 1000 + i);
        }
        cay_seat_point(s, "box0", 7, 8, 5000);
        cay_seat_point(s, "new", 1, 2, 5001);
        assert_false(cay_seat_pointer(s, "box1", &x, &y));
        assert_true(cay_seat_pointer(s, "box0", &x, &y));
        assert_int_equal(x, 7);
        assert_int_equal(y, 8);
        cay_seat_forget(s, "box0");
        assert_false(cay_seat_pointer(s, "box0", &x, &y));
        cay_seats_free(s);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(one_at_a_time),
                cmocka_unit_test(a_pressed_key_keeps_it),
                cmocka_unit_test(the_oldest_is_forgotten),
        };

        return cmocka_run_group_tests_name("desktop/seats", tests, NULL, NULL);
}
