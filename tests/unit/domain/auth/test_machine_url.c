/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/auth/machine_url.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static struct cay_machine_url u;
static struct cay_error err;

static int read_it(const char *text)
{
        err = (struct cay_error){ 0 };
        return cay_machine_url_read(text, &u, &err);
}

static void addresses_are_read(void **state)
{
        assert_int_equal(read_it("wss://Abc.Ngrok.App"), 0);
        assert_true(u.is_tls);
        assert_int_equal(u.port, 443);
        assert_string_equal(u.host, "abc.ngrok.app");
        assert_string_equal(u.authority, "abc.ngrok.app");
        assert_string_equal(u.path, "/agent");
        assert_int_equal(read_it("wss://h.example:8443/a/b/"), 0);
        assert_string_equal(u.authority, "h.example:8443");
        assert_string_equal(u.path, "/a/b/");
        assert_int_equal(read_it("ws://127.0.0.1:8765/"), 0);
        assert_false(u.is_tls);
        assert_int_equal(u.port, 8765);
        assert_string_equal(u.path, "/agent");
        assert_int_equal(read_it("ws://[2001:DB8::1]/x"), 0);
        assert_string_equal(u.host, "2001:db8::1");
        assert_string_equal(u.authority, "[2001:db8::1]");
        assert_int_equal(u.port, 80);
}

static void what_is_no_address_is_refused(void **state)
{
        static const char *const bad[] = { "",
                                           "http://h",
                                           "wss:/h",
                                           "wss://",
                                           "wss:///p",
                                           "wss://:80",
                                           "wss://h:",
                                           "wss://h:0",
                                           "wss://h:65536",
                                           "wss://h:8x",
                                           "wss://u@h",
                                           "wss://u:p@h/",
                                           "wss://h/a b",
                                           "wss://h/?q",
                                           "wss://h/#f",
                                           "wss://h?q",
                                           "wss://h\r\nX: y",
                                           "wss://h/\r\n",
                                           "wss://[::1",
                                           "wss://[::1]x",
                                           "wss://[fe80::1%eth0]",
                                           "wss://h\xc3\xa4",
                                           "wss://h/\xc3\xa4",
                                           "wss://a,b" };
        char longest[600];

        for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
                assert_int_equal(read_it(bad[i]), -1);
                assert_int_equal(err.code, CAY_INVALID);
                assert_non_null(strstr(err.msg, "url: "));
        }
        memset(longest, 'a', sizeof(longest));
        memcpy(longest, "wss://", 6);
        longest[6 + CAY_MACHINE_HOST_MAX] = '\0';
        assert_int_equal(read_it(longest), 0);
        longest[6 + CAY_MACHINE_HOST_MAX] = 'a';
        longest[7 + CAY_MACHINE_HOST_MAX] = '\0';
        assert_int_equal(read_it(longest), -1);
        memset(longest, 'a', sizeof(longest));
        memcpy(longest, "wss://h/", 8);
        longest[CAY_MACHINE_URL_MAX] = '\0';
        assert_int_equal(read_it(longest), 0);
        longest[CAY_MACHINE_URL_MAX] = 'a';
        longest[CAY_MACHINE_URL_MAX + 1] = '\0';
        assert_int_equal(read_it(longest), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(addresses_are_read),
                cmocka_unit_test(what_is_no_address_is_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
