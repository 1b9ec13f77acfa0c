/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Host names that are ports of sandboxes: one way to write each, below the domains that were said, and
 * nothing else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/gate/gate_port.h"

static char *const two[] = { "localhost", "box.example.org", NULL };
static const struct cay_config_list domains = { .items = (char **)two, .count = 2 };

static void test_names(void **state)
{
        static const struct {
                const char *host, *sandbox;
                uint16_t port;
        } rows[] = {
                { "3000-abc.localhost", "abc", 3000 },
                { "1-a.box.example.org", "a", 1 },
                { "65535-a-b-c.localhost", "a-b-c", 65535 },
                { "80-aaaakni5tzbym262plwbtj45grvf.localhost", "aaaakni5tzbym262plwbtj45grvf", 80 },
                { "80-7.localhost", "7", 80 },
        };
        struct cay_port_host h;

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                assert_true(cay_port_host_read(&domains, rows[i].host, &h));
                assert_int_equal(h.port, rows[i].port);
                assert_string_equal(h.sandbox, rows[i].sandbox);
                assert_int_equal(strncmp(h.label, rows[i].host, strlen(h.label)), 0);
        }
        (void)state;
}

static void test_others(void **state)
{
        static const char *const rows[] = {
                "",
                "localhost",
                ".localhost",
                "3000-.localhost",
                "-abc.localhost",
                "abc.localhost",
                "3000abc.localhost",
                "03000-abc.localhost",
                "0-abc.localhost",
                "65536-abc.localhost",
                "100000-abc.localhost",
                "+80-abc.localhost",
                "80-abc-.localhost",
                "80--abc.localhost",
                "80-a_b.localhost",
                "80-ABC.localhost",
                "x.80-abc.localhost",
                "80-abc.x.localhost",
                "80-abc.localhost.evil.org",
                "80-abc.evillocalhost",
                "80-abclocalhost",
                "80-abc.example.org",
                "80-abc.box.example.org.",
                "80-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.localhost",
        };
        static const struct cay_config_list none = { 0 };
        struct cay_port_host h;

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                h.port = 7;
                assert_false(cay_port_host_read(&domains, rows[i], &h));
                assert_int_equal(h.port, 0);
        }
        assert_false(cay_port_host_read(&none, "3000-abc.localhost", &h));
        (void)state;
}

static void test_own_cookie(void **state)
{
        assert_true(cay_port_cookie_is_ours("cay_port=x"));
        assert_true(cay_port_cookie_is_ours("__Host-cay_port=x; more=1"));
        assert_true(cay_port_cookie_is_ours("cay_port =x"));
        assert_false(cay_port_cookie_is_ours("cay_portal=x"));
        assert_false(cay_port_cookie_is_ours("my_cay_port=x"));
        assert_false(cay_port_cookie_is_ours("cay_por"));
        assert_false(cay_port_cookie_is_ours(""));
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_names),
                cmocka_unit_test(test_others),
                cmocka_unit_test(test_own_cookie),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
