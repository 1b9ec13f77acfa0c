/* SPDX-License-Identifier: Apache-2.0 */
/* What a proxy is asked: hosts, ports, and what is passed on. */
#include "domain/network/proxy_request.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static struct cay_proxy_request req;

static enum cay_proxy read_text(const char *text)
{
        return cay_proxy_read((const uint8_t *)text, strlen(text), false, &req);
}

static void test_http(void **state)
{
        static const struct {
                const char *text;
                enum cay_proxy is;
                const char *host;
                unsigned port;
        } rows[] = {
                { "CONNECT pypi.org:443 HTTP/1.1\r\n\r\n", CAY_PROXY_CONNECT, "pypi.org", 443 },
                { "CONNECT PyPI.org.:443 HTTP/1.1\r\nHost: x\r\n\r\n", CAY_PROXY_CONNECT, "pypi.org", 443 },
                { "CONNECT 10.0.0.1:22 HTTP/1.0\r\n\r\nrest", CAY_PROXY_CONNECT, "10.0.0.1", 22 },
                { "CONNECT [2001:db8::1]:22 HTTP/1.1\r\n\r\n", CAY_PROXY_CONNECT, "2001:db8::1", 22 },
                { "GET http://a.example/x?y HTTP/1.1\r\n\r\n", CAY_PROXY_HTTP, "a.example", 80 },
                { "GET HTTP://a.example:8080 HTTP/1.1\r\n\r\n", CAY_PROXY_HTTP, "a.example", 8080 },
                { "POST http://[::1]:81/ HTTP/1.1\r\nA: b\r\n\r\n", CAY_PROXY_HTTP, "::1", 81 },
                { "", CAY_PROXY_MORE, NULL, 0 },
                { "CONNECT pypi.org:443 HTTP/1.1\r\n", CAY_PROXY_MORE, NULL, 0 },
                { "CONNECT pypi.org HTTP/1.1\r\n\r\n", CAY_PROXY_BAD, NULL, 0 },
                { "CONNECT pypi.org:0 HTTP/1.1\r\n\r\n", CAY_PROXY_BAD, NULL, 0 },
                { "CONNECT pypi.org:65536 HTTP/1.1\r\n\r\n", CAY_PROXY_BAD, NULL, 0 },
                { "CONNECT a@pypi.org:443 HTTP/1.1\r\n\r\n", CAY_PROXY_BAD, NULL, 0 },
                { "CONNECT 2001:db8::1:22 HTTP/1.1\r\n\r\n", CAY_PROXY_BAD, NULL, 0 },
                { "CONNECT [pypi.org]:443 HTTP/1.1\r\n\r\n", CAY_PROXY_BAD, NULL, 0 },
                { "GET /path HTTP/1.1\r\nHost: a.example\r\n\r\n", CAY_PROXY_BAD, NULL, 0 },
                { "GET https://a.example/ HTTP/1.1\r\n\r\n", CAY_PROXY_BAD, NULL, 0 },
                { "GET http://u:p@a.example/ HTTP/1.1\r\n\r\n", CAY_PROXY_BAD, NULL, 0 },
                { "GET http://a.example/ HTTP/2.0\r\n\r\n", CAY_PROXY_BAD, NULL, 0 },
                { "GET http://a.example/ HTTP/1.1\r\n folded\r\n\r\n", CAY_PROXY_BAD, NULL, 0 },
                { "GET http://a.example/ HTTP/1.1\r\nA: b\nHost: c\r\n\r\n", CAY_PROXY_BAD, NULL, 0 },
                { "GET http://a.example/ HTTP/1.1\r\nHost : c\r\n\r\n", CAY_PROXY_BAD, NULL, 0 },
                { "GET http://a.example/ b HTTP/1.1\r\n\r\n", CAY_PROXY_BAD, NULL, 0 },
                { "\r\n\r\n", CAY_PROXY_BAD, NULL, 0 },
        };

        for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                char text[CAY_ADDRESS_TEXT];
                enum cay_proxy got = read_text(rows[i].text);

                if (got != rows[i].is)
                        fail_msg("%s: %d, not %d", rows[i].text, (int)got, (int)rows[i].is);
                if (got == CAY_PROXY_BAD)
                        assert_non_null(req.why);
                if (!rows[i].host)
                        continue;
                assert_string_equal(req.name[0] ? req.name : cay_address_text(&req.address, text),
                                    rows[i].host);
                assert_int_equal(req.port, rows[i].port);
        }
}

static void test_long_heads(void **state)
{
        static uint8_t head[CAY_PROXY_HEAD_MAX];

        memset(head, 'a', sizeof(head));
        assert_int_equal(cay_proxy_read(head, sizeof(head) - 1, false, &req), CAY_PROXY_MORE);
        assert_int_equal(cay_proxy_read(head, sizeof(head), false, &req), CAY_PROXY_BAD);
}

static void test_what_is_passed_on(void **state)
{
        static const char asked[] = "POST http://a.example:81/p?q HTTP/1.1\r\nHost: evil.example\r\nA: b\r\n"
                                    "Proxy-Connection: keep-alive\r\nProxy-Authorization: Basic eA==\r\n"
                                    "connection: keep-alive, A\r\nContent-Length: 3\r\n\r\nxyz";
        static const char passed[] =
                "POST /p?q HTTP/1.1\r\nHost: a.example:81\r\nA: b\r\nContent-Length: 3\r\n"
                "Connection: close\r\n\r\n";
        char out[512];
        size_t len;

        assert_int_equal(read_text(asked), CAY_PROXY_HTTP);
        assert_int_equal(req.len, strlen(asked) - 3);
        len = cay_proxy_rewrite((const uint8_t *)asked, req.len, out, sizeof(out));
        assert_int_equal(len, strlen(passed));
        assert_memory_equal(out, passed, len);
        assert_int_equal(cay_proxy_rewrite((const uint8_t *)asked, req.len, out, len - 1), 0);
        assert_int_equal(read_text("GET http://a.example?q HTTP/1.1\r\n\r\n"), CAY_PROXY_HTTP);
        len = cay_proxy_rewrite((const uint8_t *)"GET http://a.example?q HTTP/1.1\r\n\r\n", req.len, out,
                                sizeof(out));
        assert_memory_equal(out, "GET /?q HTTP/1.1\r\n", 18);
}

#define SOCKS(bytes) cay_proxy_read((const uint8_t *)bytes, sizeof(bytes) - 1, true, &req)

static void test_socks(void **state)
{
        assert_int_equal(cay_proxy_read((const uint8_t *)"\5\2\2", 3, false, &req), CAY_PROXY_MORE);
        assert_int_equal(cay_proxy_read((const uint8_t *)"\5\2\2\0x", 5, false, &req), CAY_PROXY_GREETED);
        assert_true(req.is_good && req.len == 4);
        assert_int_equal(cay_proxy_read((const uint8_t *)"\5\1\2", 3, false, &req), CAY_PROXY_GREETED);
        assert_false(req.is_good);
        assert_int_equal(SOCKS("\5\1\0\3\tA.example\1\273"), CAY_PROXY_SOCKS);
        assert_string_equal(req.name, "a.example");
        assert_int_equal(req.port, 443);
        assert_int_equal(SOCKS("\5\1\0\1\10\10\4\4\0\120x"), CAY_PROXY_SOCKS);
        assert_true(req.name[0] == '\0' && req.port == 80 && req.len == 10);
        assert_int_equal(SOCKS("\5\1\0\3\0109.9.9.99\0\120"), CAY_PROXY_SOCKS); /* an address as text */
        assert_true(req.name[0] == '\0' && cay_address_is_v4(&req.address));
        assert_int_equal(SOCKS("\5\1\0\4"
                               "0123456789012345\0\120"),
                         CAY_PROXY_SOCKS);
        assert_int_equal(SOCKS("\5\1\0\3\tA.exam"), CAY_PROXY_MORE);
        assert_int_equal(SOCKS("\5\2\0\1\10\10\4\4\0\120"), CAY_PROXY_BAD); /* BIND */
        assert_int_equal(req.socks_answer, 7);
        assert_int_equal(SOCKS("\5\1\0\2\10\10\4\4\0\120"), CAY_PROXY_BAD);
        assert_int_equal(SOCKS("\5\1\0\1\10\10\4\4\0\0"), CAY_PROXY_BAD); /* port 0 */
        assert_int_equal(SOCKS("\5\1\0\3\3a\0b\0\120"), CAY_PROXY_BAD);
        assert_int_equal(SOCKS("\4\1\0\1\10\10\4\4\0\120"), CAY_PROXY_BAD);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_http),
                cmocka_unit_test(test_long_heads),
                cmocka_unit_test(test_what_is_passed_on),
                cmocka_unit_test(test_socks),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
