/* SPDX-License-Identifier: Apache-2.0 */
/* Printing: origins, masked secrets; and that what is written is read as the same again. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "domain/settings/config.h"

static const char text[] = "port = 7\n"
                           "data = \"/a \\\" # \\\\ b \"\n"
                           "token_secret = \"#hunter2 hunter2\"\n"
                           "trusted_hosts = a,b, .c\n"
                           "max_memory = 13\n"
                           "max_cpu = 12.5\n"
                           "default_cpus = 0.05\n"
                           "default_memory = 4194305\n"
                           "idle_timeout = 1500ms\n"
                           "header_timeout = 90s\n"
                           "token_lifetime = 2h\n"
                           "log_level = off\n"
                           "log_json = on\n"
                           "disk_reserve = 0\n";

static void load(struct cay_config *c, const char *from, size_t len)
{
        struct cay_error err = { 0 };

        assert_int_equal(cay_config_init(c, &err), 0);
        if (cay_config_read_text(c, "f", from, len, &err) < 0)
                fail_msg("%s", err.msg);
}

static void has(const char *all, const char *part)
{
        if (!strstr(all, part))
                fail_msg("'%s' is not in:\n%s", part, all);
}

static void people_see_origins_and_no_secrets(void **state)
{
        cay_auto_buf struct cay_buf out;
        cay_auto_config struct cay_config c;
        const char *s;

        load(&c, text, strlen(text));
        cay_buf_init(&out, 64 * 1024);
        assert_int_equal(cay_config_print(&c, false, &out), 0);
        s = cay_buf_data(&out);
        has(s, "port = 7                                    # f:1\n");
        has(s, "token_secret = (set)");
        has(s, "host = 127.0.0.1                            # default\n");
        has(s, "max_memory = 13m ");
        has(s, "max_cpu = 12.5 ");
        has(s, "default_cpus = 0.05 ");
        has(s, "default_memory = 4194305b ");
        has(s, "idle_timeout = 1500ms ");
        has(s, "header_timeout = 90s ");
        has(s, "token_lifetime = 2h ");
        has(s, "log_level = off ");
        has(s, "trusted_hosts = a, b, .c ");
        has(s, "registry = \"\" ");
        assert_null(strstr(s, "hunter2"));
        assert_null(strstr(s, "listen ="));
        cay_buf_clear(&out);
        assert_int_equal(cay_config_print(&c, true, &out), 0);
        has(cay_buf_data(&out), "# TCP port to listen on. 0: the kernel chooses a free one\nport = 7");
}

static void what_is_written_is_read_again(void **state)
{
        cay_auto_buf struct cay_buf out, again;
        cay_auto_config struct cay_config a, b;
        struct cay_error err = { 0 };

        load(&a, text, strlen(text));
        cay_buf_init(&out, 64 * 1024);
        cay_buf_init(&again, 64 * 1024);
        assert_int_equal(cay_config_write(&a, &out), 0);
        has(cay_buf_data(&out), "hunter2");
        assert_int_equal(cay_config_init(&b, &err), 0);
        assert_int_equal(cay_config_read_written(&b, cay_buf_data(&out), out.len, &err), 0);
        assert_string_equal(a.data, b.data);
        assert_string_equal(a.token_secret, b.token_secret);
        assert_int_equal(a.max_memory, b.max_memory);
        assert_int_equal(b.default_memory, 4194305);
        assert_int_equal(b.idle_timeout, 1500);
        assert_int_equal(b.disk_reserve, 0);
        assert_int_equal(b.trusted_hosts.count, 3);
        assert_int_equal(cay_config_write(&b, &again), 0);
        assert_string_equal(cay_buf_data(&out), cay_buf_data(&again));
}

static void sources_are_handed_on(void **state)
{
        cay_auto_buf struct cay_buf out;
        cay_auto_config struct cay_config a = { 0 }, b = { 0 };
        struct cay_error err = { 0 };

        cay_buf_init(&out, 64 * 1024);
        assert_int_equal(cay_config_init(&a, &err), 0);
        assert_int_equal(cay_config_set(&a, CAY_CONFIG_KEY_port, CAY_CONFIG_FLAG, "--listen", "7", &err), 0);
        assert_int_equal(cay_config_set(&a, CAY_CONFIG_KEY_max_sandboxes, CAY_CONFIG_ENV,
                                        "SANDBOX_MAX_SANDBOXES", "3", &err),
                         0);
        assert_int_equal(cay_config_set(&a, CAY_CONFIG_KEY_engine, CAY_CONFIG_FILE, "a\nb.conf:12", "native",
                                        &err),
                         0);
        assert_int_equal(cay_config_set(&a, CAY_CONFIG_KEY_config, CAY_CONFIG_FLAG, "--config", "/x", &err),
                         0);
        assert_int_equal(cay_config_write(&a, &out), 0);
        assert_int_equal(cay_config_init(&b, &err), 0);
        assert_int_equal(cay_config_read_written(&b, cay_buf_data(&out), out.len, &err), 0);
        assert_int_equal(b.source[CAY_CONFIG_KEY_port], CAY_CONFIG_FLAG);
        assert_string_equal(b.where[CAY_CONFIG_KEY_port], "--listen");
        assert_int_equal(b.source[CAY_CONFIG_KEY_max_sandboxes], CAY_CONFIG_ENV);
        assert_string_equal(b.where[CAY_CONFIG_KEY_max_sandboxes], "SANDBOX_MAX_SANDBOXES");
        assert_int_equal(b.source[CAY_CONFIG_KEY_engine], CAY_CONFIG_FILE);
        assert_string_equal(b.where[CAY_CONFIG_KEY_engine], "a?b.conf:12");
        assert_string_equal(b.config, "/x");
        assert_int_equal(b.source[CAY_CONFIG_KEY_data], CAY_CONFIG_DEFAULT);
}

static void a_full_buffer_is_told(void **state)
{
        cay_auto_buf struct cay_buf out;
        cay_auto_config struct cay_config c;

        load(&c, text, strlen(text));
        for (size_t max = 0; max < 200; max++) {
                cay_buf_init(&out, max);
                assert_true(cay_config_print(&c, true, &out) < 0);
                assert_true(out.len <= max);
                cay_buf_done(&out);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(people_see_origins_and_no_secrets),
                cmocka_unit_test(what_is_written_is_read_again),
                cmocka_unit_test(sources_are_handed_on),
                cmocka_unit_test(a_full_buffer_is_told),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
