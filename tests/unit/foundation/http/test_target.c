/* SPDX-License-Identifier: Apache-2.0 */
/* Request targets, queries and hosts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "foundation/base/cleanup.h"
#include "foundation/http/target.h"

static char text[512], room[512];
static struct cay_http_target t;

static int split(const char *target)
{
        struct cay_http_fault fault = { 0 };
        int r;

        snprintf(text, sizeof(text), "%s", target);
        r = cay_http_target_split(&t, text, room, &fault);
        if (r < 0)
                assert_int_equal(fault.status, 400);
        return r;
}

static void splits_paths(void **state)
{
        assert_int_equal(split("/api/sand%62oxes/a%2Fb/%C3%A4?x=%2F#"), -1);
        assert_int_equal(split("/api/sand%62oxes/a%2Fb/%C3%A4?x=%2F/.."), 0);
        assert_string_equal(t.path, "/api/sand%62oxes/a%2Fb/%C3%A4");
        assert_string_equal(t.query, "x=%2F/..");
        assert_int_equal(t.count, 4);
        assert_string_equal(t.segments[0], "api");
        assert_string_equal(t.segments[1], "sandboxes");
        assert_string_equal(t.segments[2], "a/b"); /* one segment still */
        assert_string_equal(t.segments[3], "\xc3\xa4");
        assert_string_equal(t.raw[2], "a%2Fb/%C3%A4");
        assert_int_equal(split("/"), 0);
        assert_int_equal(t.count, 1);
        assert_string_equal(t.segments[0], "");
        assert_null(t.query);
        assert_int_equal(split("/?"), 0);
        assert_string_equal(t.query, "");
        assert_int_equal(split("/a//b/"), 0);
        assert_int_equal(t.count, 4);
        assert_int_equal(split("*"), 0);
        assert_int_equal(t.count, 0);
        assert_int_equal(split("/..."), 0);
        assert_int_equal(split("/%252e%252e"), 0); /* decoded once */
        assert_string_equal(t.segments[0], "%2e%2e");
}

static void refuses_bad_paths(void **state)
{
        static const char *const bad[] = {
                "",        "a",         "http://x/",  "x:443",     "**",      "/..",       "/../etc",
                "/a/..",   "/a/../b",   "/./a",       "/%2e%2e/a", "/.%2e/a", "/%2E./a",   "/a/%2e",
                "/a%",     "/a%2",      "/a%zz",      "/a%2g",     "/%00",    "/a%0d%0ab", "/%7f",
                "/%ff",    "/%c0%af",   "/%ed%a0%80", "/a\\..\\b", "/..\\..", "/a#b",      "/a?b#c",
                "/%1b[0m", "/a%%32%65", "/%c3",
        };

        for (size_t i = 0; i < CAY_COUNT(bad); i++) {
                if (split(bad[i]) == 0)
                        fail_msg("taken: %s", bad[i]);
        }
}

static void checks_what_it_does_not_list(void **state)
{
        char deep[256] = "";

        for (unsigned i = 0; i < CAY_HTTP_SEGMENTS_MAX + 6; i++)
                memcpy(deep + 2 * i, "/a", 3);
        assert_int_equal(split(deep), 0);
        assert_int_equal(t.count, CAY_HTTP_SEGMENTS_MAX);
        assert_true(t.cut);
        assert_string_equal(t.raw[CAY_HTTP_SEGMENTS_MAX - 1], "a/a/a/a/a/a/a");
        assert_string_equal(t.segments[CAY_HTTP_SEGMENTS_MAX - 1], "a");
        memcpy(deep + strlen(deep), "/..", 4);
        assert_int_equal(split(deep), -1);
}

static void walks_queries(void **state)
{
        struct cay_http_query q = { .at = "a=1&&b&c=x+y%2B%26&d==&",
                                    .room = room,
                                    .room_size = sizeof(room) };

        assert_int_equal(cay_http_query_next(&q), 1);
        assert_string_equal(q.name, "a");
        assert_string_equal(q.value, "1");
        assert_int_equal(cay_http_query_next(&q), 1);
        assert_string_equal(q.name, "b");
        assert_string_equal(q.value, "");
        assert_int_equal(cay_http_query_next(&q), 1);
        assert_string_equal(q.name, "c");
        assert_string_equal(q.value, "x y+&");
        assert_int_equal(cay_http_query_next(&q), 1);
        assert_string_equal(q.value, "=");
        assert_int_equal(cay_http_query_next(&q), 0);
        q = (struct cay_http_query){ .at = NULL };
        assert_int_equal(cay_http_query_next(&q), 0);
}

static void refuses_bad_queries(void **state)
{
        static const char *const bad[] = { "a=%", "a=%4", "a=%00", "%00=a", "a=%ff", "%ff" };
        struct cay_http_query q;
        const char *value;

        for (size_t i = 0; i < CAY_COUNT(bad); i++) {
                q = (struct cay_http_query){ .at = bad[i], .room = room, .room_size = sizeof(room) };
                assert_int_equal(cay_http_query_next(&q), -EINVAL);
        }
        q = (struct cay_http_query){ .at = "abc=def", .room = room, .room_size = 8 };
        assert_int_equal(cay_http_query_next(&q), -ENOSPC);
        q = (struct cay_http_query){ .at = "abc=def", .room = room, .room_size = 9 };
        assert_int_equal(cay_http_query_next(&q), 1);

        assert_int_equal(cay_http_query_get("x=1&y=2&z=3", "y", room, sizeof(room), &value), 1);
        assert_string_equal(value, "2");
        assert_int_equal(cay_http_query_get("x=1&y=2&y=3", "y", room, sizeof(room), &value), -EEXIST);
        assert_int_equal(cay_http_query_get("x=1", "y", room, sizeof(room), &value), 0);
        assert_int_equal(cay_http_query_get(NULL, "y", room, sizeof(room), &value), 0);
}

static void splits_hosts(void **state)
{
        static const struct {
                const char *text, *host;
                unsigned port;
        } good[] = {
                { "example.org", "example.org", 0 },
                { "EXAMPLE.org:8080", "example.org", 8080 },
                { "127.0.0.1:65535", "127.0.0.1", 65535 },
                { "[::1]", "[::1]", 0 },
                { "[FE80::1]:80", "[fe80::1]", 80 },
                { "3000-abc.box_1.local", "3000-abc.box_1.local", 0 },
        };
        static const char *const bad[] = {
                "",     ":80",       "a b",     "user@host", "a:b@c",       "a,b",   "a/b",
                "a:",   "a:0",       "a:080",   "a:65536",   "a:999999",    "a:+80", "a:80:80",
                "[::1", "[]",        "[::1]80", "[::1]:x",   "::1",         "a%2eb", "[::1%lo]",
                "a\tb", "x\xc3\xa4", "a?b",     "a#b",       "[gggg::1]:1",
        };
        char host[CAY_HTTP_HOST_MAX + 1], longest[300];
        uint16_t port;

        for (size_t i = 0; i < CAY_COUNT(good); i++) {
                assert_int_equal(cay_http_host_split(good[i].text, strlen(good[i].text), host, &port), 0);
                assert_string_equal(host, good[i].host);
                assert_int_equal(port, good[i].port);
        }
        for (size_t i = 0; i < CAY_COUNT(bad); i++) {
                if (cay_http_host_split(bad[i], strlen(bad[i]), host, &port) == 0)
                        fail_msg("taken: %s", bad[i]);
        }
        memset(longest, 'a', sizeof(longest));
        assert_int_equal(cay_http_host_split(longest, CAY_HTTP_HOST_MAX, host, &port), 0);
        assert_int_equal(cay_http_host_split(longest, CAY_HTTP_HOST_MAX + 1, host, &port), -EINVAL);
        longest[0] = '[';
        assert_int_equal(cay_http_host_split(longest, sizeof(longest), host, &port), -EINVAL);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(splits_paths),
                cmocka_unit_test(refuses_bad_paths),
                cmocka_unit_test(checks_what_it_does_not_list),
                cmocka_unit_test(walks_queries),
                cmocka_unit_test(refuses_bad_queries),
                cmocka_unit_test(splits_hosts),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
