/* SPDX-License-Identifier: Apache-2.0 */
/* Which requests are the same to the front: client and route. */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "cay-front/front_crashers.h"

static void routes(void **state)
{
        static const struct {
                const char *path, *route;
        } rows[] = {
                { "/", "/" },
                { "/api/sandboxes", "/api/sandboxes" },
                { "/api/sandboxes/aaaac3rp64huamiebbwjjaidkymw/execute", "/api/sandboxes/*/execute" },
                { "/api/sandboxes/box-1/files", "/api/sandboxes/*/files" },
                { "/a%2fb/c", "/*/c" },
                { "*", "*" },
                { "//", "//" },
        };
        struct cay_http_peer peer = { .address = "192.0.2.1" };
        char text[CAY_HAND_REQUEST_TEXT], wanted[CAY_HAND_REQUEST_TEXT];

        (void)state;
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                assert_int_not_equal(cay_front_request_key(&peer, "GET", rows[i].path, text), 0);
                snprintf(wanted, sizeof(wanted), "GET %s of 192.0.2.1", rows[i].route);
                assert_string_equal(text, wanted);
        }
}

static void keys(void **state)
{
        struct cay_http_peer a = { .address = "192.0.2.1", .port = 1 }, b = { .address = "192.0.2.2" },
                             u = { .is_unix = true };
        char text[CAY_HAND_REQUEST_TEXT], longest[5000];
        uint64_t key = cay_front_request_key(&a, "GET", "/x/one1", text);

        (void)state;
        a.port = 2; /* another connection of the same client */
        assert_true(key == cay_front_request_key(&a, "GET", "/x/two2", text));
        assert_true(key != cay_front_request_key(&a, "PUT", "/x/one1", text));
        assert_true(key != cay_front_request_key(&a, "GET", "/y/one1", text));
        assert_true(key != cay_front_request_key(&b, "GET", "/x/one1", text));
        assert_true(key != cay_front_request_key(&u, "GET", "/x/one1", text));
        memset(longest, 'a', sizeof(longest));
        for (size_t i = 0; i < sizeof(longest); i += 3)
                longest[i] = '/';
        longest[sizeof(longest) - 1] = '\0';
        cay_front_request_key(&a, "GET", longest, text);
        assert_true(strlen(text) < CAY_HAND_REQUEST_TEXT);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(routes), cmocka_unit_test(keys) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
