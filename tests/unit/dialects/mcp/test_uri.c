/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of resources: what they name, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dialects/mcp/resource_uri.h"

static void test_read(void **state)
{
        static const struct {
                const char *uri;
                enum cay_mcp_uri_kind kind;
                const char *id, *rest;
                bool is_stderr;
        } rows[] = {
                { "sandbox://a/files/tmp/b", CAY_URI_FILE, "a", "/tmp/b", false },
                { "sandbox://a/files/a%20b%2fc", CAY_URI_FILE, "a", "/a b/c", false },
                { "sandbox://a/files/..b/c..", CAY_URI_FILE, "a", "/..b/c..", false },
                { "sandbox://a/info", CAY_URI_INFO, "a", "", false },
                { "sandbox://a/exec/e/stdout", CAY_URI_OUTPUT, "a", "e", false },
                { "sandbox://a/exec/e/stderr", CAY_URI_OUTPUT, "a", "e", true },
                { "template://t/SYSTEM.md", CAY_URI_TEMPLATE, "t", "", false },
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                struct cay_mcp_uri u;

                cay_mcp_uri_read(rows[i].uri, &u);
                assert_int_equal(u.kind, rows[i].kind);
                assert_string_equal(u.id, rows[i].id);
                assert_string_equal(u.rest, rows[i].rest);
                assert_int_equal(u.is_stderr, rows[i].is_stderr);
        }
        (void)state;
}

static void test_nowhere(void **state)
{
        static const char *const none[] = {
                "",
                "sandbox://",
                "sandbox:///info",
                "sandbox://a",
                "sandbox://a/",
                "sandbox://a/x",
                "sandbox://a/files/",
                "sandbox://a/files/../b",
                "sandbox://a/files/b/..",
                "sandbox://a/files/b/%2e%2e/c",
                "sandbox://a/files/%00",
                "sandbox://a/files/%4",
                "sandbox://a/files/%zz",
                "sandbox://a/exec//stdout",
                "sandbox://a/exec/e",
                "sandbox://a/exec/e/stdin",
                "template://t/SYSTEM.MD",
                "file:///etc/passwd",
        };
        char long_one[2 * CAY_MCP_URI_MAX];
        struct cay_mcp_uri u;

        for (unsigned i = 0; i < CAY_COUNT(none); i++) {
                cay_mcp_uri_read(none[i], &u);
                assert_int_equal(u.kind, CAY_URI_NOWHERE);
        }
        memset(long_one, 'x', sizeof(long_one));
        memcpy(long_one, "sandbox://a/files/", strlen("sandbox://a/files/"));
        long_one[sizeof(long_one) - 1] = '\0';
        cay_mcp_uri_read(long_one, &u);
        assert_int_equal(u.kind, CAY_URI_NOWHERE);
        (void)state;
}

static void test_seen(void **state)
{
        struct cay_mcp_uri u;

        cay_mcp_uri_read("sandbox://a/info", &u);
        assert_true(cay_mcp_uri_is_seen(&u, ""));
        assert_true(cay_mcp_uri_is_seen(&u, "a"));
        assert_false(cay_mcp_uri_is_seen(&u, "b"));
        cay_mcp_uri_read("template://t/SYSTEM.md", &u);
        assert_true(cay_mcp_uri_is_seen(&u, "b"));
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_read),
                cmocka_unit_test(test_nowhere),
                cmocka_unit_test(test_seen),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
