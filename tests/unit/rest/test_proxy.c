/* SPDX-License-Identifier: Apache-2.0 */
/* What of a request reaches a port inside a sandbox, what of its answer comes out; and which texts are ports. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dialect/rest/rest_proxy.h"

static void test_ports(void **state)
{
        static const char *const bad[] = { "",     "0",     "00",    "08080",  "+8080",
                                           "-1",   "65536", "99999", "8080 ",  " 8080",
                                           "0x50", "8e3",   "80.0",  "100000", "8080/" };
        uint16_t port = 7;

        for (unsigned i = 0; i < CAY_COUNT(bad); i++)
                assert_true(cay_proxy_parse_port(bad[i], &port) < 0);
        assert_int_equal(port, 7);
        assert_int_equal(cay_proxy_parse_port("1", &port), 0);
        assert_int_equal(port, 1);
        assert_int_equal(cay_proxy_parse_port("65535", &port), 0);
        assert_int_equal(port, 65535);
        (void)state;
}

static void test_requests(void **state)
{
        static const char *const kept_out[] = { "Authorization",
                                                "authorization",
                                                "COOKIE",
                                                "Host",
                                                "Connection",
                                                "Transfer-Encoding",
                                                "content-length",
                                                "Upgrade",
                                                "Expect",
                                                "TE",
                                                "X-Forwarded-For",
                                                "Forwarded",
                                                "Proxy-Authorization" };
        static const char *const passed[] = { "Accept", "Content-Type", "Sec-WebSocket-Key",
                                              "X-Mine", "Origin",       "Range" };

        for (unsigned i = 0; i < CAY_COUNT(kept_out); i++)
                assert_false(cay_proxy_passes(kept_out[i], false));
        for (unsigned i = 0; i < CAY_COUNT(passed); i++)
                assert_true(cay_proxy_passes(passed[i], false));
        (void)state;
}

static void test_answers(void **state)
{
        static const char *const kept_in[] = { "Set-Cookie",     "content-security-policy",
                                               "Connection",     "Transfer-Encoding",
                                               "Content-Length", "Access-Control-Allow-Origin",
                                               "X-Request-Id",   "Strict-Transport-Security",
                                               "Clear-Site-Data" };
        static const char *const passed[] = { "Content-Type", "Location", "ETag", "Sec-WebSocket-Accept",
                                              "Cache-Control" };

        for (unsigned i = 0; i < CAY_COUNT(kept_in); i++)
                assert_false(cay_proxy_passes(kept_in[i], true));
        for (unsigned i = 0; i < CAY_COUNT(passed); i++)
                assert_true(cay_proxy_passes(passed[i], true));
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_ports),
                cmocka_unit_test(test_requests),
                cmocka_unit_test(test_answers),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
