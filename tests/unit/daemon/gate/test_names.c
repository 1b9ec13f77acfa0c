/* SPDX-License-Identifier: Apache-2.0 */
/* Which names are ours, which pages may read answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "daemon/gate/gate_priv.h"

static void load(struct cay_config *c, const char *text)
{
        struct cay_error err = { 0 };

        assert_int_equal(cay_config_init(c, &err), 0);
        assert_int_equal(cay_config_read_text(c, "test", text, strlen(text), &err), 0);
}

static void test_hosts(void **state)
{
        static const struct {
                const char *host;
                bool ours;
        } rows[] = {
                { "localhost", true },
                { "127.0.0.1", true },
                { "[::1]", true },
                { "10.1.2.3", true },
                { "cay.example", true },
                { "below.example.com", true },
                { "a.b.example.com", true },
                { "example.com", true },
                { "", false },
                { "evil.example", false },
                { "xcay.example", false },
                { "cay.example.evil.org", false },
                { "notexample.com", false },
                { "127.0.0.1.evil.org", false },
                { "localhost.evil.org", false },
                { "127.0.0.2", false },
                { "[::2]", false },
                { "[", false },
                { "[]", false },
        };
        cay_auto_config struct cay_config c = { 0 };

        load(&c, "host = 10.1.2.3\ntrusted_hosts = cay.example, .example.com\n");
        for (unsigned i = 0; i < CAY_COUNT(rows); i++)
                assert_int_equal(cay_gate_host_is_ours(&c, rows[i].host), rows[i].ours);
        (void)state;
}

static void test_origins(void **state)
{
        static const struct {
                const char *origin;
                bool fine;
        } rows[] = {
                { "https://app.example", true },
                { "http://localhost:8888", true },
                { "https://a1.pages.example", true },
                { "https://app.example.evil.org", false },
                { "http://app.example", false },
                { "null", false },
                { "", false },
                { "https://app.example/", false },
                { "https://a1.pages.example.evil", false },
                { "xhttps://a1.pages.example", false },
                { "http://localhost:8889", false },
                { "file://", false },
        };
        cay_auto_config struct cay_config c = { 0 };
        regex_t regex;

        load(&c, "allow_origins = https://app.example\n");
        assert_int_equal(regcomp(&regex, "https://a[0-9]\\.pages\\.example", REG_EXTENDED), 0);
        for (unsigned i = 0; i < CAY_COUNT(rows); i++)
                assert_int_equal(cay_gate_origin_is_fine(&c, &regex, rows[i].origin, "http://localhost:8888"),
                                 rows[i].fine);
        assert_false(cay_gate_origin_is_fine(&c, NULL, "https://a1.pages.example", "http://localhost:8888"));
        regfree(&regex);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_hosts),
                cmocka_unit_test(test_origins),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
