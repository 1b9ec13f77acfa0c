/* SPDX-License-Identifier: Apache-2.0 */
/* Confirmations: once, for their owner, for what was asked, for a while. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "op/confirm.h"

static struct cay_confirms confirms;
static struct cay_buf what, other;

static int setup(void **state)
{
        confirms = (struct cay_confirms){ 0 };
        cay_buf_init(&what, 64);
        cay_buf_init(&other, 64);
        return cay_buf_put(&what, "this", 4) < 0 || cay_buf_put(&other, "that", 4) < 0 ? -1 : 0;
}

static int teardown(void **state)
{
        cay_buf_done(&what);
        cay_buf_done(&other);
        return 0;
}

static void ask(const char *owner, uint64_t now_ms, char token[CAY_CONFIRM_TOKEN + 1])
{
        struct cay_error err = { 0 };

        if (cay_confirm_ask(&confirms, owner, &what, now_ms, token, &err) < 0)
                fail_msg("%s", err.msg);
        assert_int_equal(strspn(token, "abcdefghijklmnopqrstuvwxyz234567"), CAY_CONFIRM_TOKEN);
}

static bool take(const char *owner, const struct cay_buf *of, const char *token, uint64_t now_ms)
{
        struct cay_error err = { 0 };
        int r = cay_confirm_take(&confirms, owner, of, token, now_ms, &err);

        assert_true(r == 0 || err.code == CAY_CONFLICT);
        return r == 0;
}

static void once(void **state)
{
        char token[CAY_CONFIRM_TOKEN + 1];

        ask("a", 1000, token);
        assert_true(take("a", &what, token, 2000));
        assert_false(take("a", &what, token, 2000));
}

static void of_its_owner_alone(void **state)
{
        char token[CAY_CONFIRM_TOKEN + 1];

        ask("a", 1000, token);
        assert_false(take("b", &what, token, 2000));
        assert_true(take("a", &what, token, 2000)); /* a stranger's try spends nothing */
}

static void for_what_was_asked_alone(void **state)
{
        char token[CAY_CONFIRM_TOKEN + 1];

        ask("a", 1000, token);
        assert_false(take("a", &other, token, 2000));
        assert_false(take("a", &what, token, 2000)); /* spent by the wrong use */
}

static void for_a_while(void **state)
{
        char token[CAY_CONFIRM_TOKEN + 1];

        ask("a", 1000, token);
        assert_false(take("a", &what, token, 1000 + CAY_CONFIRM_MS));
        ask("a", 1000, token);
        assert_true(take("a", &what, token, 999 + CAY_CONFIRM_MS));
}

static void words_that_are_none(void **state)
{
        char token[CAY_CONFIRM_TOKEN + 1];

        ask("a", 1000, token);
        token[0] = token[0] == 'a' ? 'b' : 'a';
        assert_false(take("a", &what, token, 2000));
        assert_false(take("a", &what, "", 2000));
        assert_false(take("a", &what, "x", 2000));
}

static void an_owner_has_so_many_and_the_oldest_goes(void **state)
{
        char tokens[CAY_CONFIRM_OWNER_ROWS + 1][CAY_CONFIRM_TOKEN + 1], mine[CAY_CONFIRM_TOKEN + 1];

        ask("b", 1, mine);
        for (unsigned i = 0; i <= CAY_CONFIRM_OWNER_ROWS; i++)
                ask("a", 1000 + i, tokens[i]);
        assert_false(take("a", &what, tokens[0], 2000));
        assert_true(take("a", &what, tokens[1], 2000));
        assert_true(take("b", &what, mine, 2000));
}

static void a_full_table_says_so_and_empties_with_time(void **state)
{
        char token[CAY_CONFIRM_TOKEN + 1], owner[16];
        struct cay_error err = { 0 };

        for (unsigned i = 0; i < CAY_CONFIRM_ROWS; i++) {
                snprintf(owner, sizeof(owner), "o%u", i);
                ask(owner, 1000, token);
        }
        assert_int_equal(cay_confirm_ask(&confirms, "late", &what, 1000, token, &err), -1);
        assert_int_equal(err.code, CAY_LIMIT);
        ask("late", 1000 + CAY_CONFIRM_MS, token);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(once, setup, teardown),
                cmocka_unit_test_setup_teardown(of_its_owner_alone, setup, teardown),
                cmocka_unit_test_setup_teardown(for_what_was_asked_alone, setup, teardown),
                cmocka_unit_test_setup_teardown(for_a_while, setup, teardown),
                cmocka_unit_test_setup_teardown(words_that_are_none, setup, teardown),
                cmocka_unit_test_setup_teardown(an_owner_has_so_many_and_the_oldest_goes, setup, teardown),
                cmocka_unit_test_setup_teardown(a_full_table_says_so_and_empties_with_time, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
