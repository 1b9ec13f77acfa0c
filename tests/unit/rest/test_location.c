/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses in a server's answers: which are its own, and where they are below the prefix. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dialect/rest/rest_location.h"

#define P "/api/sandboxes/x/ports/3000"

static void seen(const char *field, const char *path, uint16_t port, const char *value, const char *want)
{
        const struct cay_proxy_place place = {
                .prefix = P "/further", .prefix_len = strlen(P), .path = path, .port = port
        };
        cay_auto_buf struct cay_buf out = { 0 };

        cay_buf_init(&out, 4096);
        assert_int_equal(cay_location_put(&out, &place, field, value), 0);
        assert_string_equal(cay_buf_data(&out), want);
}

static void own_addresses_are_below_the_prefix(void **state)
{
        static const struct {
                const char *value, *want;
        } rows[] = {
                { "/login", P "/login" },
                { "/", P "/" },
                { "/a/./b//c/?q=/../x#/..", P "/a/b//c/?q=/../x#/.." },
                { "/a/../..", P "/" },
                { "/../%2e%2E/.%2e/x", P "/x" },
                { "/a/..\\..\\../x", P "/x" },
                { "/...", P "/..." },
                { "/..a/b", P "/..a/b" },
                { "http://localhost:3000/in", P "/in" },
                { "HTTPS://LocalHost:3000", P "/" },
                { "http://127.0.0.1:3000?x", P "/?x" },
                { "http://[::1]:3000#f", P "/#f" },
                { "//0.0.0.0:3000/x", P "/x" },
                { "\\\\localhost:3000\\x", P "/x" },
                { "../up", P "/up" },
                { "../../../up", P "/up" },
                { "x/../../y", P "/y" },
                { P "/there", P "/there" },
                { P, P },
                { P "0/x", P P "0/x" },
                { P "/../../../../config", P "/api/config" },
                { "http://localhost:3000" P "/x", P "/x" },
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++)
                seen("Location", "/a/b", 3000, rows[i].value, rows[i].want);
        seen("content-location", "/", 3000, "/v", P "/v");
        seen("Location", "", 3000, "../x", P "/x"); /* a request for the bare port */
        seen("Location", "/", 80, "http://localhost/x", P "/x");
        (void)state;
}

static void others_stay_as_they_are(void **state)
{
        static const char *const rows[] = {
                "",
                "next",
                "./next?a=../b",
                "?q",
                "#f",
                "a/b",
                "https://example.com/x",
                "//example.com/x",
                "http://localhost:3001/x",
                "http://localhost/x",
                "http://localhost:30000/x",
                "http://localhost:3000@example.com/x",
                "http://user@localhost:3000/x",
                "http://localhost.example:3000/",
                "mailto:a@b",
                "javascript:alert(1)",
                "http:login",
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++)
                seen("Location", "/a/b", 3000, rows[i], rows[i]);
        (void)state;
}

static void refreshes(void **state)
{
        seen("Refresh", "/", 3000, "5", "5");
        seen("Refresh", "/", 3000, "5; url=/x", "5; url=" P "/x");
        seen("refresh", "/", 3000, "0,URL='/x'", "0,URL='" P "/x'");
        seen("Refresh", "/", 3000, "0; url = \"/x?y\" ", "0; url = \"" P "/x?y\" ");
        seen("Refresh", "/", 3000, "0; /x", "0; " P "/x");
        seen("Refresh", "/", 3000, "0; url=https://example.com/", "0; url=https://example.com/");
        seen("Refresh", "/", 3000, ";", ";");
        (void)state;
}

static void which_fields(void **state)
{
        assert_true(cay_location_is_in("location") && cay_location_is_in("Content-Location") &&
                    cay_location_is_in("REFRESH"));
        assert_false(cay_location_is_in("Link") || cay_location_is_in("Content-Type") ||
                     cay_location_is_in("Locations"));
        (void)state;
}

static void too_long_is_told(void **state)
{
        const struct cay_proxy_place place = { .prefix = P, .prefix_len = strlen(P), .path = "/", .port = 1 };
        cay_auto_buf struct cay_buf out = { 0 };

        cay_buf_init(&out, strlen(P) + 2);
        assert_true(cay_location_put(&out, &place, "Location", "/abc") < 0);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(own_addresses_are_below_the_prefix),
                cmocka_unit_test(others_stay_as_they_are),
                cmocka_unit_test(refreshes),
                cmocka_unit_test(which_fields),
                cmocka_unit_test(too_long_is_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
