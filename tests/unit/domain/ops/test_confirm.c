/* SPDX-License-Identifier: Apache-2.0 */
/* Confirmations: for their owner, for what was asked, for a while, and whoever has the secret knows them. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "domain/ops/confirm.h"

static struct cay_secret secret;
static struct cay_confirms confirms;
static struct cay_buf what, other;

static int setup(void **state)
{
        struct cay_error err = { 0 };

        confirms.secret = &secret;
        cay_buf_init(&what, 64);
        cay_buf_init(&other, 64);
        if (cay_secret_set(&secret, "a secret of more than thirty-two bytes", &err) < 0)
                return -1;
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

/* -1: not worth spending; 0: wrong; 1: right. */
static int check(const char *owner, const struct cay_buf *of, const char *token, uint64_t now_ms,
                 char claim[CAY_CONFIRM_CLAIM])
{
        struct cay_error err = { 0 };
        bool is_right = false;

        if (cay_confirm_check(&confirms, owner, of, token, now_ms, &is_right, claim, &err) < 0) {
                assert_int_equal(err.code, CAY_CONFLICT);
                return -1;
        }
        return is_right;
}

static void for_its_owner_and_its_request(void **state)
{
        char token[CAY_CONFIRM_TOKEN + 1], claim[CAY_CONFIRM_CLAIM];

        ask("a", 1000, token);
        assert_int_equal(check("a", &what, token, 2000, claim), 1);
        assert_string_equal(claim + strlen("confirm "), token);
        assert_int_equal(check("b", &what, token, 2000, claim), 0);
        assert_int_equal(check("a", &other, token, 2000, claim), 0);
        assert_string_equal(claim + strlen("confirm "), token); /* which is spent all the same */
}

/*
 * Nothing is kept of it: the next process, with the same secret, knows it as well; with another one nobody
 * does.
 */
static void over_a_restart(void **state)
{
        struct cay_secret next = { 0 };
        struct cay_error err = { 0 };
        char token[CAY_CONFIRM_TOKEN + 1], claim[CAY_CONFIRM_CLAIM];

        ask("a", 1000, token);
        next = secret;
        confirms = (struct cay_confirms){ &next };
        assert_int_equal(check("a", &what, token, 2000, claim), 1);
        assert_int_equal(cay_secret_set(&next, "another secret, as long as the first one", &err), 0);
        assert_int_equal(check("a", &what, token, 2000, claim), 0);
}

static void for_a_while(void **state)
{
        char token[CAY_CONFIRM_TOKEN + 1], claim[CAY_CONFIRM_CLAIM];

        ask("a", 1000, token);
        assert_int_equal(check("a", &what, token, 999 + CAY_CONFIRM_MS, claim), 1);
        assert_int_equal(check("a", &what, token, 1000 + CAY_CONFIRM_MS, claim), -1);
        assert_int_equal(check("a", &what, token, 0, claim), -1); /* from a time to come */
}

static void two_are_two(void **state)
{
        char tokens[8][CAY_CONFIRM_TOKEN + 1];
        unsigned same = 0;

        for (unsigned i = 0; i < 8; i++) {
                ask("a", 1000, tokens[i]);
                for (unsigned k = 0; k < i; k++)
                        same += strcmp(tokens[i], tokens[k]) == 0;
        }
        assert_true(same < 28);
}

/* Every letter counts, the time too. */
static void words_that_are_none(void **state)
{
        char token[CAY_CONFIRM_TOKEN + 1], claim[CAY_CONFIRM_CLAIM];

        ask("a", 1000, token);
        for (unsigned i = 0; i < CAY_CONFIRM_TOKEN; i++) {
                char was = token[i];

                token[i] = was == 'a' ? 'b' : 'a';
                assert_int_not_equal(check("a", &what, token, 2000, claim), 1);
                token[i] = was;
        }
        assert_int_equal(check("a", &what, "", 2000, claim), -1);
        assert_int_equal(check("a", &what, "x", 2000, claim), -1);
        token[0] = '!';
        assert_int_equal(check("a", &what, token, 2000, claim), -1);
}

static void without_a_secret_there_are_none(void **state)
{
        char token[CAY_CONFIRM_TOKEN + 1];
        struct cay_error err = { 0 };

        confirms.secret = NULL;
        assert_int_equal(cay_confirm_ask(&confirms, "a", &what, 1, token, &err), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(for_its_owner_and_its_request, setup, teardown),
                cmocka_unit_test_setup_teardown(over_a_restart, setup, teardown),
                cmocka_unit_test_setup_teardown(for_a_while, setup, teardown),
                cmocka_unit_test_setup_teardown(two_are_two, setup, teardown),
                cmocka_unit_test_setup_teardown(words_that_are_none, setup, teardown),
                cmocka_unit_test_setup_teardown(without_a_secret_there_are_none, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
