/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of daemons, and escaping. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "foundation/base/buf.h"
#include "cay/client/url.h"

static void reads(void **state)
{
        static const struct {
                const char *text;
                enum cay_url_kind kind;
                const char *host, *port, *authority, *base;
        } rows[] = {
                { "http://127.0.0.1:8888", CAY_URL_HTTP, "127.0.0.1", "8888", "127.0.0.1:8888", "" },
                { "http://host/", CAY_URL_HTTP, "host", "80", "host", "" },
                { "https://host.example/a/b/", CAY_URL_HTTPS, "host.example", "443", "host.example", "/a/b" },
                { "http://[::1]:1", CAY_URL_HTTP, "::1", "1", "[::1]:1", "" },
        };
        struct cay_error err = { 0 };
        struct cay_url u;

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                assert_int_equal(cay_url_parse(rows[i].text, &u, &err), 0);
                assert_int_equal(u.kind, rows[i].kind);
                assert_string_equal(u.host, rows[i].host);
                assert_string_equal(u.port, rows[i].port);
                assert_string_equal(u.authority, rows[i].authority);
                assert_string_equal(u.base, rows[i].base);
        }
        assert_int_equal(cay_url_parse("unix:/run/x.sock", &u, &err), 0);
        assert_string_equal(u.path, "/run/x.sock");
        assert_int_equal(cay_url_parse("unix:///run/x.sock", &u, &err), 0);
        assert_string_equal(u.path, "/run/x.sock");
}

static void refuses(void **state)
{
        static const char *const bad[] = { "",
                                           "host",
                                           "ftp://x",
                                           "http://",
                                           "http:///x",
                                           "http://:1",
                                           "http://h:0",
                                           "http://h:x",
                                           "http://h:99999",
                                           "http://h:",
                                           "http://a b",
                                           "http://u:p@h",
                                           "http://[::1",
                                           "http://h/a b",
                                           "http://h/?x",
                                           "unix:",
                                           "http://h\r\nX: y" };
        char path[200];
        struct cay_url u;

        for (unsigned i = 0; i < CAY_COUNT(bad); i++) {
                struct cay_error err = { 0 };

                if (cay_url_parse(bad[i], &u, &err) == 0)
                        fail_msg("taken: %s", bad[i]);
                assert_int_equal(err.code, CAY_INVALID);
                assert_true(err.msg[0] != '\0');
        }
        memset(path, 'a', sizeof(path));
        path[sizeof(path) - 1] = '\0';
        assert_int_equal(cay_url_unix(path, &u, &(struct cay_error){ 0 }), -1);
}

static void escapes(void **state)
{
        cay_auto_buf struct cay_buf out = { 0 };

        cay_buf_init(&out, 100);
        assert_int_equal(cay_url_escape(&out, "aZ0-._~ /?#%&=+\xc3\xa9\n", false), 0);
        assert_string_equal(cay_buf_data(&out), "aZ0-._~%20%2F%3F%23%25%26%3D%2B%C3%A9%0A");
        cay_buf_clear(&out);
        assert_int_equal(cay_url_escape(&out, "/a/b c", true), 0);
        assert_string_equal(cay_buf_data(&out), "/a/b%20c");
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(reads), cmocka_unit_test(refuses),
                                            cmocka_unit_test(escapes) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
