/* SPDX-License-Identifier: Apache-2.0 */
/* The address that people type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "domain/settings/config.h"

static void test_urls(void **state)
{
        static const struct {
                const char *settings, *url;
        } rows[] = {
                { "", "http://127.0.0.1:8123" },
                { "host = localhost\nport = 0\n", "http://localhost:8123" },
                { "host = \"::1\"\n", "http://[::1]:8123" },
                { "host = 0.0.0.0\n", "http://localhost:8123" },
                { "host = \"::\"\n", "http://localhost:8123" },
                { "tls_cert = /c\ntls_key = /k\n", "https://127.0.0.1:8123" },
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                cay_auto_config struct cay_config c = { 0 };
                char url[CAY_CONFIG_URL_MAX];
                struct cay_error err = { 0 };

                assert_int_equal(cay_config_init(&c, &err), 0);
                assert_int_equal(cay_config_read_text(&c, "test", rows[i].settings, strlen(rows[i].settings),
                                                      &err),
                                 0);
                cay_config_url(&c, 8123, url);
                assert_string_equal(url, rows[i].url);
        }
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_urls),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
