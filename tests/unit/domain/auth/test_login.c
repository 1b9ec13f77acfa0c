/* SPDX-License-Identifier: Apache-2.0 */
/* One-time logins: once, in time, and an owner's oldest goes when it has too many. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "domain/auth/login.h"

static void works_once(void **state)
{
        struct cay_logins l = { 0 };
        struct cay_caller c;
        struct cay_error err;
        char text[CAY_LOGIN_LEN + 1];

        assert_int_equal(cay_login_make(&l, "alice", CAY_SCOPE_ALL, 1000, text, &err), 0);
        assert_int_equal(strlen(text), CAY_LOGIN_LEN);
        assert_true(cay_login_take(&l, text, CAY_LOGIN_LEN, 2000, &c));
        assert_string_equal(c.owner, "alice");
        assert_int_equal(c.scopes, CAY_SCOPE_ALL);
        assert_false(cay_login_take(&l, text, CAY_LOGIN_LEN, 2000, &c));
}

static void works_for_ten_minutes(void **state)
{
        struct cay_logins l = { 0 };
        struct cay_caller c;
        struct cay_error err;
        char text[CAY_LOGIN_LEN + 1];

        assert_int_equal(cay_login_make(&l, "a", CAY_SCOPE_ALL, 1000, text, &err), 0);
        assert_false(cay_login_take(&l, text, CAY_LOGIN_LEN, 1000 + CAY_LOGIN_MS, &c));
        assert_true(cay_login_take(&l, text, CAY_LOGIN_LEN, 999 + CAY_LOGIN_MS, &c));
}

static void others_do_not_work(void **state)
{
        struct cay_logins l = { 0 };
        struct cay_caller c;
        struct cay_error err;
        char text[CAY_LOGIN_LEN + 1], other[CAY_LOGIN_LEN + 1];

        memset(other, 'A', CAY_LOGIN_LEN);
        assert_false(cay_login_take(&l, other, CAY_LOGIN_LEN, 1, &c)); /* an empty slot is no login */
        assert_int_equal(cay_login_make(&l, "a", CAY_SCOPE_READ, 1, text, &err), 0);
        memcpy(other, text, sizeof(other));
        other[5] = other[5] == 'x' ? 'y' : 'x';
        assert_false(cay_login_take(&l, other, CAY_LOGIN_LEN, 1, &c));
        assert_false(cay_login_take(&l, text, CAY_LOGIN_LEN - 1, 1, &c));
        assert_false(cay_login_take(&l, text, 0, 1, &c));
        assert_true(cay_login_take(&l, text, CAY_LOGIN_LEN, 1, &c));
        assert_int_equal(cay_login_make(&l, "a b", CAY_SCOPE_READ, 1, text, &err), -1);
}

static void the_owners_oldest_makes_room(void **state)
{
        static struct cay_logins l;
        char text[CAY_LOGIN_OWNER + 1][CAY_LOGIN_LEN + 1], others[CAY_LOGIN_LEN + 1];
        struct cay_caller c;
        struct cay_error err;

        assert_int_equal(cay_login_make(&l, "b", CAY_SCOPE_READ, 999, others, &err), 0);
        for (unsigned i = 0; i <= CAY_LOGIN_OWNER; i++)
                assert_int_equal(cay_login_make(&l, "a", CAY_SCOPE_READ, 1000 + i, text[i], &err), 0);
        assert_false(cay_login_take(&l, text[0], CAY_LOGIN_LEN, 2000, &c));
        for (unsigned i = 1; i <= CAY_LOGIN_OWNER; i++)
                assert_true(cay_login_take(&l, text[i], CAY_LOGIN_LEN, 2000, &c));
        assert_true(cay_login_take(&l, others, CAY_LOGIN_LEN, 2000, &c)); /* the oldest of all */
}

static void nobody_elses_makes_room(void **state)
{
        static struct cay_logins l;
        char text[CAY_LOGIN_SLOTS][CAY_LOGIN_LEN + 1], more[CAY_LOGIN_LEN + 1], owner[16];
        struct cay_caller c;
        struct cay_error err;

        for (unsigned i = 0; i < CAY_LOGIN_SLOTS; i++) {
                snprintf(owner, sizeof(owner), "o%u", i);
                assert_int_equal(cay_login_make(&l, owner, CAY_SCOPE_READ, 1000, text[i], &err), 0);
        }
        assert_int_equal(cay_login_make(&l, "late", CAY_SCOPE_READ, 1001, more, &err), -1);
        assert_int_equal(err.code, CAY_LIMIT);
        assert_int_equal(cay_login_make(&l, "o7", CAY_SCOPE_READ, 1001, more, &err),
                         0); /* in place of its own */
        for (unsigned i = 0; i < CAY_LOGIN_SLOTS; i++)
                assert_int_equal(cay_login_take(&l, text[i], CAY_LOGIN_LEN, 2000, &c), i != 7);
        assert_true(cay_login_take(&l, more, CAY_LOGIN_LEN, 2000, &c));
        assert_int_equal(cay_login_make(&l, "late", CAY_SCOPE_READ, 2000, more, &err), 0);
}

static struct cay_token session(const char *id, uint64_t expires_s)
{
        struct cay_token t = { .expires_s = expires_s };

        snprintf(t.caller.id, sizeof(t.caller.id), "%s", id);
        return t;
}

static void a_session_ends_alone(void **state)
{
        static struct cay_logins l;
        struct cay_token a = session("a", 5000 + CAY_SESSION_S), b = session("b", 5000 + CAY_SESSION_S),
                         nameless = session("", 5000 + CAY_SESSION_S);

        assert_false(cay_session_is_over(&l, &a));
        assert_false(cay_session_is_over(&l, &nameless)); /* a free entry is nobody's */
        cay_session_end(&l, "a", 5001);
        assert_true(cay_session_is_over(&l, &a));
        assert_false(cay_session_is_over(&l, &b));
        cay_session_end(&l, "a", 5002);
        assert_true(cay_session_is_over(&l, &a));
}

/* However many end: none comes back, and one made later lives. */
static void forgetting_gives_none_back(void **state)
{
        static struct cay_logins l;
        char id[16];

        for (unsigned i = 0; i < 3 * CAY_SESSION_ENDED; i++) {
                snprintf(id, sizeof(id), "s%u", i);
                cay_session_end(&l, id, 1000 + i);
        }
        for (unsigned i = 0; i < 3 * CAY_SESSION_ENDED; i++) {
                struct cay_token t;

                snprintf(id, sizeof(id), "s%u", i);
                t = session(id, 1000 + i + CAY_SESSION_S); /* made as late as it can have been */
                assert_true(cay_session_is_over(&l, &t));
        }
        assert_false(cay_session_is_over(&l, &(struct cay_token){ .caller.id = "other",
                                                                  .expires_s = 9000 + CAY_SESSION_S }));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(works_once),
                cmocka_unit_test(works_for_ten_minutes),
                cmocka_unit_test(others_do_not_work),
                cmocka_unit_test(the_owners_oldest_makes_room),
                cmocka_unit_test(nobody_elses_makes_room),
                cmocka_unit_test(a_session_ends_alone),
                cmocka_unit_test(forgetting_gives_none_back),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
