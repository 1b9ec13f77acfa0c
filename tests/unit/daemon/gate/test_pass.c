/* SPDX-License-Identifier: Apache-2.0 */
/* Passes: judged again, charged, and let go while something is open. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "foundation/base/clock.h"
#include "daemon/gate/gate.h"
#include "daemon/gate/gate_priv.h"

static uint64_t now_ms, now_wall_ms;

/* These stand in for foundation/base/clock.c: the archive's own are not linked. */
uint64_t cay_clock_ns(void)
{
        return now_ms * 1000000;
}

uint64_t cay_clock_ms(void)
{
        return now_ms;
}

uint64_t cay_clock_wall_ms(void)
{
        return now_wall_ms;
}

static void read_clock(const struct cay_clock *clock, struct cay_clock_reading *ret)
{
        *ret = (struct cay_clock_reading){ .wall_ms = now_wall_ms };
}

static const struct cay_clock fake_clock = { .read = read_clock };
static struct cay_config config;
static struct cay_logins logins;
static struct cay_api_keys *keys;
static struct cay_loop *loop;
static struct cay_gate *gate;

static struct guarded {
        struct cay_guard guard;
        struct guarded *takes_along; /* ends with it */
        char why[128];
        unsigned told;
} a, b, c;

static void on_over(struct cay_guard *g, const char *why)
{
        struct guarded *x = cay_container_of(g, struct guarded, guard);

        snprintf(x->why, sizeof(x->why), "%s", why);
        x->told++;
        if (x->takes_along)
                cay_guard_end(&x->takes_along->guard);
}

static int setup(void **state)
{
        struct cay_gate_env env = { .config = &config, .logins = &logins, .clock = &fake_clock };
        struct cay_error err;

        now_ms = 1000;
        now_wall_ms = 1000000;
        memset(&a, 0, sizeof(a));
        memset(&b, 0, sizeof(b));
        memset(&c, 0, sizeof(c));
        memset(&logins, 0, sizeof(logins));
        config.allow_origin_regex = "";
        config.rate_limit = 60;
        config.rate_burst = 2;
        env.keys = keys = cay_api_keys_new();
        env.loop = loop = cay_loop_new();
        assert_true(keys && loop);
        return cay_gate_new(&env, &gate, &err);
}

static int teardown(void **state)
{
        cay_loop_free(loop);
        cay_gate_free(gate);
        cay_api_keys_free(keys);
        return 0;
}

static const char *make_key(void)
{
        const struct cay_store_key *record;
        char text[CAY_API_KEY_MAX + 1];
        struct cay_error err;

        assert_int_equal(
                cay_api_keys_make(keys, CAY_API_KEY_CAY, "o", CAY_SCOPE_READ, "", 1, text, &record, &err), 0);
        return record->id;
}

static void open_with(struct guarded *x, enum cay_pass_kind kind, const char *id, uint64_t expires_s)
{
        struct cay_token token = { .expires_s = expires_s };

        snprintf(token.caller.id, sizeof(token.caller.id), "%s", id);
        cay_gate_fill_pass(gate, &x->guard.pass, kind, &token);
        cay_guard_begin(&x->guard, on_over);
}

static void pass_time(uint64_t ms)
{
        now_ms += ms;
        now_wall_ms += ms;
        assert_int_equal(cay_loop_round(loop, 0), 0);
}

static void a_revoked_key_is_let_go_within_a_second(void **state)
{
        const char *id = make_key(), *other = make_key();

        open_with(&a, CAY_PASS_KEY, id, 0);
        open_with(&b, CAY_PASS_KEY, other, 0);
        open_with(&c, CAY_PASS_FREE, "", 0);
        pass_time(900);
        assert_int_equal(a.told, 0);
        cay_api_keys_revoke(keys, id, 1);
        pass_time(999);
        pass_time(999);
        assert_int_equal(a.told, 1);
        assert_string_equal(a.why, "this key was revoked");
        assert_int_equal(b.told + c.told, 0);
        cay_guard_end(&b.guard);
}

/* Without waiting for the look at all of them. */
static void each_message_is_judged(void **state)
{
        const char *id = make_key();

        open_with(&a, CAY_PASS_KEY, id, 0);
        assert_true(cay_guard_look(&a.guard));
        cay_api_keys_revoke(keys, id, 1);
        assert_false(cay_guard_look(&a.guard));
        assert_int_equal(a.told, 1);
        pass_time(2000);
        assert_int_equal(a.told, 1);
}

static void tokens_and_sessions_end(void **state)
{
        open_with(&a, CAY_PASS_TOKEN, "t", 1002);
        open_with(&b, CAY_PASS_SESSION, "s", 9999);
        open_with(&c, CAY_PASS_SESSION, "u", 9999);
        pass_time(1999);
        assert_true(cay_guard_look(&a.guard));
        now_wall_ms += 1; /* at its second it is over */
        assert_false(cay_guard_look(&a.guard));
        assert_non_null(strstr(a.why, "lifetime"));
        cay_session_end(&logins, "s", 1002);
        pass_time(1000);
        assert_int_equal(b.told, 1);
        assert_int_equal(c.told, 0);
        cay_guard_end(&c.guard);
}

/* The list is walked while its members go. */
static void one_end_may_be_anothers(void **state)
{
        const char *id = make_key();

        open_with(&a, CAY_PASS_KEY, id, 0);
        open_with(&b, CAY_PASS_KEY, id, 0);
        open_with(&c, CAY_PASS_KEY, id, 0); /* the first in the list */
        c.takes_along = &b;
        cay_api_keys_revoke(keys, id, 1);
        pass_time(1000);
        assert_int_equal(c.told, 1);
        assert_int_equal(b.told, 0);
        assert_int_equal(a.told, 1);
}

static int pay(const char *payer, bool is_anonymous, uint64_t *ret_wait_ms)
{
        struct cay_pass p = { .gate = gate, .is_anonymous = is_anonymous };
        struct cay_error err;

        snprintf(p.payer, sizeof(p.payer), "%s", payer);
        return cay_pass_pay(&p, ret_wait_ms, &err);
}

static void messages_are_charged(void **state)
{
        uint64_t wait_ms;

        assert_int_equal(pay("o/1", false, &wait_ms), 0);
        assert_int_equal(pay("o/1", false, &wait_ms), 0);
        assert_int_equal(pay("o/1", false, &wait_ms), -1);
        assert_int_equal(wait_ms, 1000);
        assert_int_equal(pay("o/2", false, &wait_ms), 0); /* another's purse */
        now_ms += 1000;
        assert_int_equal(pay("o/1", false, &wait_ms), 0);
        for (unsigned i = 0; i < 10; i++)
                assert_int_equal(pay("", false, &wait_ms), 0); /* the unix socket */
}

/* However many addresses they have: who is known has a place. */
static void strangers_take_no_room(void **state)
{
        char address[40];
        uint64_t wait_ms;

        for (unsigned i = 0; i < 100000; i++) {
                snprintf(address, sizeof(address), "@%u", i);
                pay(address, true, &wait_ms);
        }
        for (unsigned i = 0; i < 1000; i++) {
                snprintf(address, sizeof(address), "o/%u", i);
                assert_int_equal(pay(address, false, &wait_ms), 0);
        }
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        const struct CMUnitTest tests[] = {
                T(a_revoked_key_is_let_go_within_a_second),
                T(each_message_is_judged),
                T(tokens_and_sessions_end),
                T(one_end_may_be_anothers),
                T(messages_are_charged),
                T(strangers_take_no_room),
        };

        return cmocka_run_group_tests_name("gate/pass", tests, NULL, NULL);
}
