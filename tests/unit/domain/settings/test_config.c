/* SPDX-License-Identifier: Apache-2.0 */
/* Keys: the table itself, every kind's values and refusals. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "domain/settings/config.h"
#include "foundation/base/log.h"

static struct cay_config c;

static int setup(void **state)
{
        struct cay_error err;

        return cay_config_init(&c, &err);
}

static int teardown(void **state)
{
        cay_config_done(&c);
        cay_config_done(&c);
        return 0;
}

static void sets(const char *name, const char *value)
{
        struct cay_error err = { 0 };
        int key = cay_config_find(name, strlen(name));

        assert_true(key >= 0);
        if (cay_config_set(&c, key, CAY_CONFIG_FILE, "here", value, &err) < 0)
                fail_msg("%s = %s: %s", name, value, err.msg);
}

static void refuses(const char *name, const char *value, const char *msg)
{
        struct cay_error err = { 0 };
        int key = cay_config_find(name, strlen(name));

        assert_true(key >= 0);
        assert_int_equal(cay_config_set(&c, key, CAY_CONFIG_FILE, "here", value, &err), -1);
        assert_int_equal(err.code, CAY_INVALID);
        assert_string_equal(err.msg, msg);
}

static void the_table_is_sound(void **state)
{
        for (unsigned i = 0; i < CAY_CONFIG_KEY_COUNT; i++) {
                const struct cay_config_row *row = &cay_config_rows[i];

                assert_true(strspn(row->name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(row->name));
                assert_true(strlen(row->name) <= 40);
                assert_true(strlen(row->doc) > 10);
                assert_int_equal(cay_config_find(row->name, strlen(row->name)), i);
        }
}

/* The names of document 003, and what its examples say. */
static void contracts_are_kept(void **state)
{
        static const char *const names[] = { "SANDBOX_TOKEN_SECRET",
                                             "SANDBOX_ALLOW_ORIGINS",
                                             "SANDBOX_MAX_MEMORY_MB",
                                             "SANDBOX_ALLOW_ORIGIN_REGEX",
                                             "SANDBOX_MODE",
                                             "SANDBOX_MAX_CPU_PERCENT",
                                             "SANDBOX_SERVICE_URL",
                                             "SANDBOX_TRUSTED_HOSTS",
                                             "HOST",
                                             "PORT" };

        for (size_t n = 0; n < CAY_COUNT(names); n++) {
                unsigned found = 0;

                for (unsigned i = 0; i < CAY_CONFIG_KEY_COUNT; i++)
                        found += strcmp(cay_config_rows[i].env, names[n]) == 0;
                assert_int_equal(found, 1);
        }
}

static void defaults_are_the_design_s(void **state)
{
        assert_string_equal(c.host, "127.0.0.1");
        assert_int_equal(c.port, 8888);
        assert_int_equal(c.token_lifetime, 30 * 60 * 1000);
        assert_int_equal(c.max_memory, 512ull << 20);
        assert_int_equal(c.max_cpu, 500);
        assert_int_equal(c.max_pids, 50);
        assert_int_equal(c.default_memory, 2ull << 30);
        assert_int_equal(c.default_cpus, 2000);
        assert_int_equal(c.default_pids, 256);
        assert_int_equal(c.default_disk, 1ull << 30);
        assert_int_equal(c.default_inodes, 100000);
        assert_int_equal(c.most_memory, 8ull << 30);
        assert_int_equal(c.most_cpus, 8000);
        assert_int_equal(c.most_pids, 4096);
        assert_int_equal(c.most_disk, 32ull << 30);
        assert_int_equal(c.most_inodes, 4000000);
        assert_int_equal(c.max_sandboxes, 10);
        assert_int_equal(c.workspace_roots.count, 0);
        assert_int_equal(c.max_json_depth, 32);
        assert_int_equal(c.header_timeout, 10000);
        assert_int_equal(c.log_level, CAY_LOG_INFO);
        assert_true(c.sandbox_mode);
        assert_string_equal(c.token_secret, "");
}

static void each_kind_is_read(void **state)
{
        sets("max_memory", "1024");
        assert_int_equal(c.max_memory, 1ull << 30);
        sets("max_memory", "1.5g");
        assert_int_equal(c.max_memory, 1536ull << 20);
        sets("max_cpu", "50.0");
        assert_int_equal(c.max_cpu, 500);
        sets("max_cpu", "12.5");
        assert_int_equal(c.max_cpu, 125);
        sets("default_cpus", "0.25");
        assert_int_equal(c.default_cpus, 250);
        sets("log_level", "debug");
        assert_int_equal(c.log_level, CAY_LOG_DEBUG);
        sets("log_json", "yes");
        assert_true(c.log_json);
        sets("log_json", "0");
        assert_false(c.log_json);
        sets("trusted_hosts", "a.example ,  .b.example,c");
        assert_int_equal(c.trusted_hosts.count, 3);
        assert_string_equal(c.trusted_hosts.items[0], "a.example");
        assert_string_equal(c.trusted_hosts.items[1], ".b.example");
        assert_null(c.trusted_hosts.items[3]);
        sets("trusted_hosts", "");
        assert_int_equal(c.trusted_hosts.count, 0);
        sets("workspace_roots", "/srv/a,/srv/b");
        assert_int_equal(c.workspace_roots.count, 2);
        sets("allow_origin_regex", "^https?://([a-z0-9-]+\\.)*railway\\.app$");
        sets("data", "/x");
        assert_string_equal(c.data, "/x");
        sets("port", "0");
        assert_int_equal(c.source[CAY_CONFIG_KEY_port], CAY_CONFIG_FILE);
        assert_string_equal(c.where[CAY_CONFIG_KEY_port], "here");
}

static void listen_fills_both(void **state)
{
        sets("listen", "0.0.0.0:80");
        assert_string_equal(c.host, "0.0.0.0");
        assert_int_equal(c.port, 80);
        sets("listen", "[::1]:8080");
        assert_string_equal(c.host, "::1");
        assert_int_equal(c.port, 8080);
        sets("listen", ":9");
        assert_string_equal(c.host, "0.0.0.0");
        sets("listen", "localhost:8");
        assert_string_equal(c.host, "localhost");
        refuses("listen", "80", "here: listen = '80' is not HOST:PORT (like 127.0.0.1:8888 or [::1]:8888)");
        refuses("listen", "::1:80",
                "here: listen = '::1:80' is not HOST:PORT (like 127.0.0.1:8888 or [::1]:8888)");
        refuses("listen", "a:65536",
                "here: listen = 'a:65536' is not HOST:PORT (like 127.0.0.1:8888 or [::1]:8888)");
        assert_string_equal(c.host, "localhost");
        assert_int_equal(c.port, 8);
}

static void wrong_values_are_refused(void **state)
{
        refuses("port", "65536", "here: port = '65536' is too big: at most 65535");
        refuses("port", "-1", "here: port = '-1' is not a whole number");
        refuses("port", "http", "here: port = 'http' is not a whole number");
        refuses("max_memory", "1b", "here: max_memory = '1b' is too small: at least 4m");
        refuses("max_memory", "99999999999999999999",
                "here: max_memory = '99999999999999999999' is too big: at most 64t");
        refuses("max_cpu", "0.05", "here: max_cpu = '0.05' is not a percentage (like 50 or 12.5)");
        refuses("data", "var", "here: data = 'var' must be an absolute path");
        refuses("workspace_roots", "/a,b", "here: workspace_roots = 'b' must be an absolute path");
        refuses("trusted_hosts", "a,,b", "here: trusted_hosts has an empty entry");
        refuses("trusted_hosts", "a,", "here: trusted_hosts ends with a comma");
        refuses("log_level", "loud",
                "here: log_level = 'loud' is not a log level (debug, info, warn, error or off)");
        refuses("log_json", "maybe", "here: log_json = 'maybe' is not true or false");
        refuses("engine", "x\ny", "here: the value of engine has a control character in it");
        refuses("engine", "\xff", "here: the value of engine is not UTF-8");
        refuses("token_secret", "hunter2", "here: token_secret has 7 bytes: it needs 8 to 255");
        refuses("allow_origin_regex", "(",
                "here: allow_origin_regex is not an extended regular expression: Unmatched ( or \\(");
        assert_int_equal(c.port, 8888); /* untouched */
}

static void costly_expressions_are_refused(void **state)
{
        static const char *const bad[] = { "^(a{60}){60}$", "^a{65}$",  "^a++$",
                                           "^a?*$",         "^a{2}+$",  "^((((a)))+)$",
                                           "^a{9,65}$",     "^(a)\\1$", "^a{99999999999999999999}$" };
        char big[514];

        for (size_t i = 0; i < CAY_COUNT(bad); i++)
                refuses("allow_origin_regex", bad[i],
                        "here: allow_origin_regex is too complex: at most 512 bytes, no back references, few "
                        "repeats");
        memset(big, 'a', 513);
        big[513] = '\0';
        refuses("allow_origin_regex", big,
                "here: allow_origin_regex is too complex: at most 512 bytes, no back references, few "
                "repeats");
        sets("allow_origin_regex", "^[*+]+[]?+]*[^]++]{2}[[:alpha:]*]+(((a+)+)+)$");
        sets("allow_origin_regex", "^https://[a-z]{1,63}\\.x$");
}

static void lists_and_values_are_bounded(void **state)
{
        char many[65 * 2], big[CAY_CONFIG_VALUE_MAX + 2];

        for (int i = 0; i < 65; i++)
                memcpy(many + 2 * i, "a,", 2);
        many[2 * 65 - 1] = '\0';
        refuses("trusted_hosts", many, "here: trusted_hosts has too many entries: at most 64");
        memset(big, 'a', sizeof(big));
        big[sizeof(big) - 1] = '\0';
        refuses("service_url", big, "here: the value of service_url is too long: at most 8192 bytes");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(the_table_is_sound, setup, teardown),
                cmocka_unit_test_setup_teardown(contracts_are_kept, setup, teardown),
                cmocka_unit_test_setup_teardown(defaults_are_the_design_s, setup, teardown),
                cmocka_unit_test_setup_teardown(each_kind_is_read, setup, teardown),
                cmocka_unit_test_setup_teardown(listen_fills_both, setup, teardown),
                cmocka_unit_test_setup_teardown(wrong_values_are_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(costly_expressions_are_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(lists_and_values_are_bounded, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
