/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a request reaches a port inside a sandbox, what of its answer comes out; and which texts are ports.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "dialects/rest/proxy_fields.h"
#include "dialects/rest/rest_proxy.h"

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
                                                "Proxy-Authorization",
                                                "X-Auth-Token",
                                                "x-api-key",
                                                "X-UserToken",
                                                "MyAppSessionId",
                                                "X-ApiKey",
                                                "Api-Key",
                                                "X-Access-Token",
                                                "X_Session_Id",
                                                "Remote-User",
                                                "X-Real-IP",
                                                "X-Auth-Request-Email",
                                                "CF-Access-Jwt-Assertion",
                                                "X-Goog-IAP-JWT-Assertion",
                                                "X-Amzn-Oidc-Data",
                                                "X-SSL-Client-Cert",
                                                "X-Original-URL",
                                                "Via",
                                                "Cookie2" };
        static const char *const passed[] = {
                "Accept",      "Content-Type",   "Sec-WebSocket-Key", "X-Mine",
                "Origin",      "Range",          "X-CSRF-Token",      "X-XSRFToken",
                "HX-Request",  "Referer",        "X-Requested-With",  "traceparent",
                "Next-Action", "Depth",          "Mcp-Session-Id",    "If-None-Match",
                "X-Monkey",    "Accept-Language"
        };

        for (unsigned i = 0; i < CAY_COUNT(kept_out); i++)
                assert_false(cay_proxy_passes(kept_out[i], false));
        for (unsigned i = 0; i < CAY_COUNT(passed); i++)
                assert_true(cay_proxy_passes(passed[i], false));
        (void)state;
}

static void test_answers(void **state)
{
        static const char *const kept_in[] = { "Set-Cookie",
                                               "content-security-policy",
                                               "Connection",
                                               "Transfer-Encoding",
                                               "Content-Length",
                                               "Access-Control-Allow-Origin",
                                               "X-Request-Id",
                                               "Strict-Transport-Security",
                                               "Clear-Site-Data",
                                               "Alt-Svc",
                                               "NEL",
                                               "report-to",
                                               "Reporting-Endpoints",
                                               "X-Accel-Redirect",
                                               "x-accel-buffering",
                                               "X-Accel-Expires",
                                               "X-Sendfile",
                                               "X-Sendfile-Type",
                                               "X-LIGHTTPD-send-file",
                                               "X-LiteSpeed-Location",
                                               "X-Reproxy-URL",
                                               "Surrogate-Control",
                                               "CDN-Cache-Control",
                                               "Edge-Control",
                                               "Speculation-Rules",
                                               "Service-Worker-Allowed",
                                               "Set-Login",
                                               "Authentication-Info",
                                               "Proxy-Authenticate",
                                               "X-Mine",
                                               "Via" };
        static const char *const passed[] = {
                "Content-Type",  "Location",  "ETag",        "Sec-WebSocket-Accept",
                "Cache-Control", "X-App-Any", "HX-Redirect", "Content-Disposition",
                "x-total-count", "Vary",      "Link",        "Referrer-Policy"
        };

        for (unsigned i = 0; i < CAY_COUNT(kept_in); i++)
                assert_false(cay_proxy_passes(kept_in[i], true));
        for (unsigned i = 0; i < CAY_COUNT(passed); i++)
                assert_true(cay_proxy_passes(passed[i], true));
        (void)state;
}

static void check_cookies(const char *field, const char *left)
{
        cay_auto_buf struct cay_buf out = { 0 };

        cay_buf_init(&out, 200);
        assert_int_equal(cay_proxy_put_cookies(&out, field), left ? 0 : 1);
        assert_string_equal(cay_buf_data(&out), left ? left : "");
}

static void test_cookies(void **state)
{
        check_cookies("a=1; cay_port=x; b=2", "a=1; b=2");
        check_cookies("cay_port=x", NULL);
        check_cookies("", NULL);
        check_cookies(" ; ;", NULL);
        check_cookies("cay_port=x;__Host-cay_port=y;a=\"1\"", "a=\"1\"");
        check_cookies("cay_portal=1;x=cay_port=2", "cay_portal=1; x=cay_port=2");
        check_cookies("cay_session_8888=s; a=1; __Host-cay_session_443=t", "a=1");
        check_cookies("__Host-x=1; x=cay_session_1", "__Host-x=1; x=cay_session_1");
        assert_true(cay_proxy_cookie_stays("a=1; Path=/; HttpOnly"));
        assert_true(cay_proxy_cookie_stays("domain=1; Path=/"));
        assert_true(cay_proxy_cookie_stays("a=1; Domainish=x"));
        assert_false(cay_proxy_cookie_stays("a=1; Domain=localhost"));
        assert_false(cay_proxy_cookie_stays("a=1;dOmAiN=x; Path=/"));
        assert_false(cay_proxy_cookie_stays("a=1; Path=/;\tdomain\t= x"));
        assert_false(cay_proxy_cookie_stays("a=1; domain"));
        assert_false(cay_proxy_cookie_stays("cay_port=mine"));
        assert_false(cay_proxy_cookie_stays(" __Host-cay_port=mine"));
        (void)state;
}

static void check_unlinked(const char *query, const char *target, bool has_link)
{
        cay_auto_buf struct cay_buf out = { 0 };

        cay_buf_init(&out, 200);
        assert_int_equal(cay_proxy_put_unlinked(&out, "/p", query), 0);
        assert_string_equal(cay_buf_data(&out), target);
        assert_int_equal(cay_proxy_has_link(query), has_link);
}

static void test_links(void **state)
{
        check_unlinked(NULL, "/p", false);
        check_unlinked("", "/p", false);
        check_unlinked("cay_link=x", "/p", true);
        check_unlinked("cay_link", "/p", true);
        check_unlinked("a=1&cay_link=x&b=2", "/p?a=1&b=2", true);
        check_unlinked("cay_link=x&cay_link=y&a", "/p?a", true);
        check_unlinked("cay_links=x&&b=cay_link", "/p?cay_links=x&b=cay_link", false);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_cookies),  cmocka_unit_test(test_links),   cmocka_unit_test(test_ports),
                cmocka_unit_test(test_requests), cmocka_unit_test(test_answers),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
