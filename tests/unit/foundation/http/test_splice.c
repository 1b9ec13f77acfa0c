/* SPDX-License-Identifier: Apache-2.0 */
/* Two duplexes joined: bytes, back-pressure and ends, both ways. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "foundation/http/splice.h"
#include "unit/foundation/http/fake_duplex.h"

static struct fake_duplex left, right;
static struct cay_splice splice;
static unsigned ends;

static void on_done(struct cay_splice *s)
{
        ends++;
}

static int setup(void **state)
{
        ends = 0;
        fake_duplex_init(&left);
        fake_duplex_init(&right);
        cay_splice_begin(&splice, &left.duplex, &right.duplex, on_done);
        return 0;
}

static int teardown(void **state)
{
        cay_splice_abort(&splice);
        cay_buf_done(&left.wrote);
        cay_buf_done(&right.wrote);
        return 0;
}

static void eof(struct fake_duplex *f)
{
        f->duplex.user->ops->on_eof(f->duplex.user);
}

static void passes_on(void **state)
{
        fake_duplex_say(&left, "there", 5);
        fake_duplex_say(&right, "back", 4);
        assert_string_equal(cay_buf_data(&right.wrote), "there");
        assert_string_equal(cay_buf_data(&left.wrote), "back");
        assert_int_equal(left.owed + right.owed, 0);
        assert_int_equal(splice.bytes, 9);
}

static void pays_when_taken(void **state)
{
        right.room = 2;
        fake_duplex_say(&left, "0123456789", 10);
        fake_duplex_say(&left, "abc", 3);
        assert_string_equal(cay_buf_data(&right.wrote), "01");
        assert_int_equal(left.owed, 11);
        fake_duplex_give_room(&right, 5);
        assert_string_equal(cay_buf_data(&right.wrote), "0123456");
        assert_int_equal(left.owed, 6);
        fake_duplex_give_room(&right, 100);
        assert_string_equal(cay_buf_data(&right.wrote), "0123456789abc");
        assert_int_equal(left.owed, 0);
}

static void ends_each_way_by_itself(void **state)
{
        right.room = 1;
        fake_duplex_say(&left, "ab", 2);
        eof(&left);
        assert_false(right.shut); /* 'b' comes first */
        fake_duplex_give_room(&right, 100);
        assert_true(right.shut);
        fake_duplex_say(&right, "answer", 6);
        assert_string_equal(cay_buf_data(&left.wrote), "answer");
        assert_int_equal(ends, 0);
        eof(&right);
        assert_int_equal(ends, 1);
        assert_true(left.closed && right.closed);
}

static void a_lost_side_ends_both(void **state)
{
        left.duplex.user->ops->on_lost(left.duplex.user, -ECONNRESET);
        assert_int_equal(ends, 1);
        assert_true(right.closed);
        assert_false(left.closed); /* gone by itself */
}

static void last_words_are_passed_on(void **state)
{
        right.room = 0;
        fake_duplex_say(&left, "last", 4);
        left.duplex.user->ops->on_lost(left.duplex.user, 0);
        assert_int_equal(ends, 0);
        fake_duplex_give_room(&right, 100);
        assert_string_equal(cay_buf_data(&right.wrote), "last");
        assert_int_equal(ends, 1);
        assert_true(right.closed);
}

/*
 * Both have words that the other does not take: what nobody will take is paid for, so that the one that is
 * left is read to its end.
 */
static void what_is_said_to_nobody_is_paid_for(void **state)
{
        left.room = right.room = 0;
        fake_duplex_say(&left, "xy", 2);
        fake_duplex_say(&right, "z", 1);
        right.duplex.user->ops->on_lost(right.duplex.user, -ECONNRESET);
        assert_int_equal(left.owed, 0);
        assert_int_equal(ends, 0);
        fake_duplex_say(&left, "more", 4);
        assert_int_equal(left.owed, 0);
        left.duplex.user->ops->on_lost(left.duplex.user, 0);
        assert_int_equal(ends, 1);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        const struct CMUnitTest tests[] = {
                T(passes_on),
                T(pays_when_taken),
                T(ends_each_way_by_itself),
                T(a_lost_side_ends_both),
                T(last_words_are_passed_on),
                T(what_is_said_to_nobody_is_paid_for),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
