/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses in a server's answers: which are its own, and where they are below the prefix. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dialects/rest/rest_location.h"

#define P "/api/sandboxes/x/ports/3000"

static void seen(const char *field, const char *path, uint16_t port, const char *value, const char *want)
{
        const struct cay_proxy_place place = { .prefix = P "/further",
                                               .prefix_len = strlen(P),
                                               .path = path,
                                               .host = "Cay.example",
                                               .port = port };
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
                { "http://user:word@localhost:3000/x", P "/x" },
                /* as the client named us, which X-Forwarded-Host told the server */
                { "http://cay.example/x", P "/x" },
                { "https://CAY.example:443/api/config", P "/api/config" },
                { "//cay.example:80/../x", P "/x" },
                { "https://cay.example" P "/x", P "/x" },
                /* blanks and control characters that browsers drop */
                { " /x ", P "/x" },
                { "\x01\x1f /x\x02", P "/x" },
                { "/.\t./.\t%2\te/x", P "/x" },
                { "\t/\tx", P "/x" },
                { ".\t./up", P "/up" },
                { "/\t/localhost:3000/x", P "/x" },
                { "ht\ttp://localhost:3000/x", P "/x" },
                /* any number of slashes before a host, forward or not */
                { "///localhost:3000/x", P "/x" },
                { "/\\/\\localhost:3000\\x", P "/x" },
                { "http:///localhost:3000/x", P "/x" },
                { "http:\\\\localhost:3000/x", P "/x" },
                /* a scheme without a host */
                { "http:/x", P "/x" },
                { "http:\\x", P "/x" },
                { "HTTP:/../../x", P "/x" },
                { "https:x", P "/a/x" },
                { "http:login?q", P "/a/login?q" },
                { "http:../../x", P "/x" },
                { "http:", "" },
                { "http:?q", "?q" },
                /* no scheme, because it begins with no letter */
                { "1:/../../../x", P "/x" },
                { "+a:/../../../x", P "/x" },
                { ":/../../../x", P "/x" },
                /* a host that nobody can tell, or none: what is left is the port itself */
                { "http://c%61y.example/x", P "/" },
                { "//\xc3\xa4.example/x", P "/" },
                { "http://cay.example /x", P "/" },
                { "http://", P "/" },
                { "//", P "/" },
                { "///?x", P "/" },
                { "http://user@/x", P "/" },
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++)
                seen("Location", "/a/b", 3000, rows[i].value, rows[i].want);
        seen("content-location", "/", 3000, "/v", P "/v");
        seen("Location", "", 3000, "../x", P "/x"); /* a request for the bare port */
        seen("Location", "", 3000, "3001/x", P "/3001/x");
        seen("Location", "", 3000, "?q", "?q");
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
                "http://localhost.example:3000/",
                "mailto:a@b",
                "javascript:alert(1)",
                "ftp://localhost:3000/x",
                "http://cay.example:8888/x",
                "http://cay.example.:80/x",
                "http://cay.example@example.com/x",
                "http://[2001:db8::1]:3000/x",
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++)
                seen("Location", "/a/b", 3000, rows[i], rows[i]);
        (void)state;
}

/* Dropped characters are dropped for everybody, so that all read the same. */
static void what_stays_is_cleaned(void **state)
{
        seen("Location", "/a/b", 3000, "\tne\txt ", "next");
        seen("Location", "/a/b", 3000, "/\t/example.com/x", "//example.com/x");
        seen("Location", "/a/b", 3000, "java\tscript:alert(1)", "javascript:alert(1)");
        (void)state;
}

static void refreshes(void **state)
{
        static const struct {
                const char *value, *want;
        } rows[] = {
                { "5", "5" },
                { " 0.5 ", "0.5" },
                { "5;", "5" },
                { "5; url=/x", "5; url=\"" P "/x\"" },
                { "0,URL='/x'", "0; url=\"" P "/x\"" },
                { "0; url = \"/x?y\" ", "0; url=\"" P "/x?y\"" },
                { "0; /x", "0; url=\"" P "/x\"" },
                { "0; url=https://example.com/", "0; url=\"https://example.com/\"" },
                { "0 /x", "0; url=\"" P "/x\"" },
                { "0 url=/../x", "0; url=\"" P "/x\"" },
                { "0;url=\"/x'/../../y\"", "0; url=\"" P "/y\"" },
                { "0;url='/x\"/z", "0; url=\"" P "/x%22/z\"" },
                { "0;url=/x'/../../y", "0; url=\"" P "/y\"" },
                { "0; url/x", "0; url=\"url/x\"" },
                { "0; u\trl=/x", "0; url=\"url=/x\"" }, /* a relative path, and it stays one */
                { "0; \x01url=/x", "0; url=\"url=/x\"" },
                { "0; url=\x01\"/x", "0; url=\"%22/x\"" },
                { "5abc; url=/x", "5" }, /* nothing that browsers would follow */
                { "url=/x", "" },
                { ";", "" },
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++)
                seen("Refresh", "/", 3000, rows[i].value, rows[i].want);
        seen("refresh", "/a/b", 3000, "1;../../x", "1; url=\"" P "/x\"");
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
                cmocka_unit_test(what_stays_is_cleaned),
                cmocka_unit_test(refreshes),
                cmocka_unit_test(which_fields),
                cmocka_unit_test(too_long_is_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
