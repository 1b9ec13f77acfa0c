/* SPDX-License-Identifier: Apache-2.0 */
/* The environment and the flags; which source wins; secrets leave the environment. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "domain/settings/config.h"

#define ENV(...) ((char *[]){ __VA_ARGS__, NULL })

static struct cay_config c;

static int setup(void **state)
{
        struct cay_error err;

        return cay_config_init(&c, &err);
}

static int teardown(void **state)
{
        cay_config_done(&c);
        return 0;
}

static void variables_are_read(void **state)
{
        struct cay_error err = { 0 };

        assert_int_equal(cay_config_read_env(&c,
                                             ENV("PORT=99", "HOST=::1", "SANDBOX_MAX_MEMORY_MB=1024",
                                                 "SANDBOX_MAX_CPU_PERCENT=50.0", "SANDBOX_MODE=1",
                                                 "SANDBOX_ALLOW_ORIGINS=http://localhost:3000",
                                                 "CAY_MAX_JSON=2m", "OTHER=1", "PORTX=1",
                                                 "SANDBOX_TRUSTED_HOSTS="),
                                             &err),
                         0);
        assert_int_equal(c.port, 99);
        assert_string_equal(c.host, "::1");
        assert_int_equal(c.max_memory, 1ull << 30);
        assert_int_equal(c.max_cpu, 500);
        assert_int_equal(c.max_json, 2u << 20);
        assert_string_equal(c.allow_origins.items[0], "http://localhost:3000");
        assert_string_equal(c.where[CAY_CONFIG_KEY_max_memory], "SANDBOX_MAX_MEMORY_MB");
        assert_int_equal(c.source[CAY_CONFIG_KEY_trusted_hosts], CAY_CONFIG_DEFAULT); /* empty: not set */
}

static void our_own_name_is_the_nearer(void **state)
{
        struct cay_error err = { 0 };

        assert_int_equal(cay_config_read_env(&c, ENV("PORT=99", "CAY_PORT=98"), &err), 0);
        assert_int_equal(c.port, 98);
        assert_string_equal(c.where[CAY_CONFIG_KEY_port], "CAY_PORT");
}

static void a_wrong_variable_is_named(void **state)
{
        struct cay_error err = { 0 };

        assert_int_equal(cay_config_read_env(&c, ENV("PORT=http"), &err), -1);
        assert_string_equal(err.msg, "PORT: port = 'http' is not a whole number");
}

static void secrets_leave_the_environment(void **state)
{
        char one[] = "SANDBOX_TOKEN_SECRET=a very good secret",
             two[] = "CAY_TOKEN_SECRET=another good secret";
        char three[] = "SANDBOX_TOKEN_SECRET=short", bad[] = "PORT=x";
        struct cay_error err = { 0 };

        assert_int_equal(cay_config_read_env(&c, ENV(one, two), &err), 0);
        assert_string_equal(c.token_secret, "another good secret");
        assert_string_equal(one, "SANDBOX_TOKEN_SECRET=");
        assert_int_equal(one[sizeof(one) - 2], 0); /* to the last letter */
        assert_string_equal(two, "CAY_TOKEN_SECRET=");
        /* Also when something else fails, and the value is in no error. */
        assert_int_equal(cay_config_read_env(&c, ENV(three, bad), &err), -1);
        assert_string_equal(three, "SANDBOX_TOKEN_SECRET=");
        assert_null(strstr(err.msg, "short"));
}

static int args(int *rest, struct cay_error *err, char **argv)
{
        int argc = 0;

        while (argv[argc])
                argc++;
        *err = (struct cay_error){ 0 };
        return cay_config_read_args(&c, argc, argv, rest, err);
}

static void flags_are_read(void **state)
{
        struct cay_error err;
        int rest;

        assert_int_equal(args(&rest, &err,
                              ENV("serve", "--data", "/d", "--listen=0.0.0.0:81", "--log-json",
                                  "--max_pids=7", "rest")),
                         0);
        assert_int_equal(rest, 6);
        assert_string_equal(c.data, "/d");
        assert_int_equal(c.port, 81);
        assert_true(c.log_json);
        assert_int_equal(c.max_pids, 7);
        assert_string_equal(c.where[CAY_CONFIG_KEY_port], "--listen");
        assert_int_equal(args(&rest, &err, ENV("serve")), 0);
        assert_int_equal(rest, 1);
        assert_int_equal(args(&rest, &err, ENV("serve", "--", "--data")), 0);
        assert_int_equal(rest, 2);
        assert_int_equal(args(&rest, &err, ENV("serve", "--data", "/e", "--help")), 1);
        assert_int_equal(args(&rest, &err, ENV("serve", "--log-json=false", "x")), 0);
        assert_false(c.log_json);
}

static void paths_are_from_here(void **state)
{
        char here[PATH_MAX], whole[PATH_MAX + 16];
        struct cay_error err;
        int rest;

        assert_non_null(getcwd(here, sizeof(here)));
        snprintf(whole, sizeof(whole), "%s/sub/dir", here);
        assert_int_equal(args(&rest, &err, ENV("serve", "--data", "sub/dir")), 0);
        assert_string_equal(c.data, whole);
}

static void wrong_flags_are_refused(void **state)
{
        struct cay_error err;
        int rest;

        assert_int_equal(args(&rest, &err, ENV("serve", "--dta", "/d")), -1);
        assert_string_equal(err.msg, "command line: unknown option '--dta' (did you mean '--data'?)");
        assert_int_equal(args(&rest, &err, ENV("serve", "--trusted-host", "/d")), -1);
        assert_string_equal(
                err.msg, "command line: unknown option '--trusted-host' (did you mean '--trusted-hosts'?)");
        assert_int_equal(args(&rest, &err, ENV("serve", "--data")), -1);
        assert_string_equal(err.msg, "--data: a value is missing");
        assert_int_equal(args(&rest, &err, ENV("serve", "--token-secret", "hunter2hunter2")), -1);
        assert_null(strstr(err.msg, "hunter2"));
        assert_string_equal(c.token_secret, "");
        assert_int_equal(args(&rest, &err, ENV("serve", "--port=x")), -1);
        assert_string_equal(err.msg, "--port: port = 'x' is not a whole number");
}

static void later_sources_win(void **state)
{
        char folder[] = "/tmp/cay-config-XXXXXX", path[64], env[96];
        const char text[] = "port = 1\nmax_pids = 11\nmax_json = 2k\n";
        struct cay_config l;
        struct cay_error err = { 0 };
        int rest, fd;

        assert_non_null(mkdtemp(folder));
        snprintf(path, sizeof(path), "%s/cay.conf", folder);
        snprintf(env, sizeof(env), "CAY_CONFIG=%s", path);
        fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
        close(fd);
        assert_int_equal(cay_config_load(&l, 3, ENV("serve", "--port", "3"),
                                         ENV("PORT=2", "CAY_MAX_PIDS=12", env), &rest, &err),
                         0);
        assert_int_equal(l.port, 3);
        assert_int_equal(l.max_pids, 12);
        assert_int_equal(l.max_json, 2048);
        assert_int_equal(l.source[CAY_CONFIG_KEY_port], CAY_CONFIG_FLAG);
        assert_int_equal(l.source[CAY_CONFIG_KEY_max_pids], CAY_CONFIG_ENV);
        assert_int_equal(l.source[CAY_CONFIG_KEY_max_json], CAY_CONFIG_FILE);
        cay_config_done(&l);
        /* --config over CAY_CONFIG; one that is named must be there. */
        assert_int_equal(cay_config_load(&l, 5, ENV("serve", "--port", "3", "--config", "/nowhere/x"),
                                         ENV(env), &rest, &err),
                         -1);
        assert_int_equal(err.code, CAY_NOT_FOUND);
        assert_int_equal(cay_config_load(&l, 2, ENV("serve", "--host=0.0.0.0"), ENV(env), &rest, &err), -1);
        assert_non_null(strstr(err.msg, "trusted_hosts"));
        unlink(path);
        rmdir(folder);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(variables_are_read, setup, teardown),
                cmocka_unit_test_setup_teardown(our_own_name_is_the_nearer, setup, teardown),
                cmocka_unit_test_setup_teardown(a_wrong_variable_is_named, setup, teardown),
                cmocka_unit_test_setup_teardown(secrets_leave_the_environment, setup, teardown),
                cmocka_unit_test_setup_teardown(flags_are_read, setup, teardown),
                cmocka_unit_test_setup_teardown(paths_are_from_here, setup, teardown),
                cmocka_unit_test_setup_teardown(wrong_flags_are_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(later_sources_win, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
