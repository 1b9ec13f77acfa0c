/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `cay run`: every one of them, and every way to get one wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cay/cli/run_args.h"

#define READ(a, err, ...)                                                                                    \
        ({                                                                                                   \
                static char *argv_[] = { (char *)"run", __VA_ARGS__, NULL };                                 \
                cay_run_args_read(a, (int)CAY_COUNT(argv_) - 1, argv_, err);                                 \
        })

static void defaults(void **state)
{
        struct cay_run_args a;
        struct cay_run_options o;
        struct cay_error err = { 0 };

        assert_int_equal(READ(&a, &err, "ls", "-l"), 0);
        assert_string_equal(a.command[0], "ls");
        assert_string_equal(a.command[1], "-l");
        cay_run_args_fill(&a, &o);
        assert_int_equal(o.spec.limits.memory_bytes, 256u << 20);
        assert_int_equal(o.spec.template_kind, CAY_TEMPLATE_HOST);
        assert_int_equal(o.spec.workspace_fd, -1);
        assert_null(o.engine);
        assert_string_equal(o.spec.id, "");
        assert_int_equal(o.spec.may_skip, 0);
        cay_run_args_done(&a);
}

static void every_option(void **state)
{
        struct cay_run_args a;
        struct cay_run_options o;
        struct cay_error err = { 0 };

        assert_int_equal(READ(&a, &err, "--template", "rootfs:/", "--workspace", "/tmp:rw", "--memory", "1g",
                              "--swap", "64m", "--cpus", "2", "--pids", "9", "--disk", "1m", "--inodes",
                              "100", "--files", "99", "--timeout", "1.5", "--cpu-time", "3", "--output-limit",
                              "10k:cut", "--allow-missing", "disk,inodes", "--env", "A=1", "--env",
                              "B=", "--user", "root", "--cwd", "/usr", "--read-only", "--engine", "process",
                              "--id", "my-run", "--tty", "--json", "--quiet", "--trace", "--", "--weird"),
                         0);
        cay_run_args_fill(&a, &o);
        assert_int_equal(o.spec.template_kind, CAY_TEMPLATE_ROOTFS);
        assert_true(o.spec.rootfs_fd >= 0);
        assert_true(o.spec.workspace_fd >= 0);
        assert_true(o.spec.workspace_rw);
        assert_int_equal(o.spec.limits.memory_bytes, 1u << 30);
        assert_int_equal(o.spec.limits.swap_bytes, 64u << 20);
        assert_int_equal(o.spec.limits.cpu_milli, 2000);
        assert_int_equal(o.spec.limits.pids, 9);
        assert_int_equal(o.spec.limits.disk_bytes, 1u << 20);
        assert_int_equal(o.spec.limits.inodes, 100);
        assert_int_equal(o.spec.limits.files, 99);
        assert_int_equal(o.spec.limits.wall_ms, 1500);
        assert_int_equal(o.spec.limits.cpu_time_ms, 3000);
        assert_int_equal(o.spec.limits.output_bytes, 10240);
        assert_true(o.spec.limits.output_cut);
        assert_int_equal(o.spec.may_skip, CAY_LIMIT_BIT(disk_bytes) | CAY_LIMIT_BIT(inodes));
        assert_string_equal(o.env[0], "A=1");
        assert_string_equal(o.env[1], "B=");
        assert_null(o.env[2]);
        assert_string_equal(o.user, "root");
        assert_string_equal(o.cwd, "/usr");
        assert_true(o.spec.options.read_only);
        assert_string_equal(o.engine, "process");
        assert_string_equal(o.spec.id, "my-run");
        assert_true(o.tty && a.json && a.quiet && o.trace);
        assert_string_equal(o.argv[0], "--weird");
        cay_run_args_done(&a);
}

static void a_workspace_is_read_only_unless_asked_for(void **state)
{
        struct cay_run_args a;
        struct cay_error err = { 0 };

        assert_int_equal(READ(&a, &err, "--workspace", "/tmp", "x"), 0);
        assert_int_equal(a.workspace_mode, CAY_WORKSPACE_RO);
        cay_run_args_done(&a);
}

static void changes_are_kept_for_a_while(void **state)
{
        struct cay_run_options o;
        struct cay_run_args a;
        struct cay_error err = { 0 };

        assert_int_equal(READ(&a, &err, "--workspace", "/tmp:cow", "x"), 0);
        cay_run_args_fill(&a, &o);
        assert_true(o.spec.workspace_cow && !o.spec.workspace_rw);
        assert_int_equal(o.changes_fd, -1);
        assert_int_equal(a.keep_ms, 7 * 24 * 3600 * 1000);
        cay_run_args_done(&a);
        assert_int_equal(READ(&a, &err, "--workspace", "/tmp:cow", "--keep", "30d", "x"), 0);
        assert_true(a.keep_ms == 30ull * 24 * 3600 * 1000);
        cay_run_args_done(&a);
        assert_int_equal(READ(&a, &err, "--keep", "90m", "--workspace", "/tmp:cow", "x"), 0);
        assert_int_equal(a.keep_ms, 90 * 60 * 1000);
        cay_run_args_done(&a);
}

static void refused(const char *option, const char *value, const char *text)
{
        char *argv[] = { (char *)"run", (char *)option, (char *)value, (char *)"x", NULL };
        struct cay_run_args a;
        struct cay_error err = { 0 };

        assert_int_equal(cay_run_args_read(&a, 4, argv, &err), -1);
        assert_int_equal(err.code, CAY_INVALID);
        if (strstr(err.msg, text) == NULL || strstr(err.msg, option) == NULL)
                fail_msg("%s %s: %s", option, value, err.msg);
        cay_run_args_done(&a);
}

static void mistakes_name_their_option(void **state)
{
        refused("--memory", "99999999999999g", "too big");
        refused("--memory", "-1", "is not a size");
        refused("--memory", "", "is not a size");
        refused("--cpus", "0.0.5", "is not a number of processors");
        refused("--pids", "1.5", "is not a number");
        refused("--disk", "1x", "is not a size");
        refused("--inodes", "3", "too small");
        refused("--files", "9999999", "too big");
        refused("--timeout", "never", "is not a duration");
        refused("--cpu-time", "0", "too small");
        refused("--output-limit", "0:cut", "too small");
        refused("--output-limit", ":cut", "is not a size");
        refused("--output-limit", "1m:keep", "is not a size");
        refused("--allow-missing", "memory,luck", "'luck' is no limit");
        refused("--env", "NOVALUE", "is not NAME=VALUE");
        refused("--env", "=x", "is not NAME=VALUE");
        refused("--user", "two words", "is no user");
        refused("--user", "70000", "0 to 65535");
        refused("--cwd", "relative", "absolute");
        refused("--engine", "steam", "there are: ");
        refused("--id", "Not An Id", "is not a name");
        refused("--id", "-x", "is not a name");
        refused("--template", "hots", "is no template");
        refused("--template", "/no/such/folder", "No such file");
        refused("--template", "rootfs:/etc/passwd", "Not a directory");
        refused("--workspace", "/no/such/folder:rw", "'/no/such/folder': No such file");
        refused("--workspace", "/etc/passwd", "Not a directory");
        refused("--workspace", ":rw", "empty");
        refused("--workspace", ":cow", "empty");
        refused("--keep", "1d", "needs --workspace DIR:cow");
        refused("--keep", "soon", "is not a time");
        refused("--keep", "0d", "is not a time");
        refused("--keep", "9999d", "at most 3650d");
        refused("--keep", "1.5d", "is not a time");
}

static void layers_can_be_left_out_in_test_builds_only(void **state)
{
        struct cay_run_args a;
        struct cay_error err = { 0 };
        int r = READ(&a, &err, "--test-off", "seccomp,netns", "x");

#ifdef CAY_TEST_HOOKS
        assert_int_equal(r, 0);
        assert_true(a.test_off != 0 && (a.test_off & (a.test_off - 1)) != 0); /* two of them */
        cay_run_args_done(&a);
        assert_int_equal(READ(&a, &err, "--test-off", "gravity", "x"), -1);
        assert_non_null(strstr(err.msg, "--test-off: 'gravity'"));
#else
        assert_int_equal(r, -1);
        assert_non_null(strstr(err.msg, "unknown option '--test-off'"));
#endif
        cay_run_args_done(&a);
}

static void a_command_is_needed(void **state)
{
        struct cay_run_args a;
        struct cay_error err = { 0 };

        assert_int_equal(READ(&a, &err, "--quiet"), -1);
        assert_non_null(strstr(err.msg, "no COMMAND"));
        assert_int_equal(READ(&a, &err, "--quiet", "--"), -1);
        assert_int_equal(READ(&a, &err, ""), -1);
        cay_run_args_done(&a);
}

static void json_keeps_only_so_much(void **state)
{
        struct cay_run_args a;
        struct cay_error err = { 0 };

        assert_int_equal(READ(&a, &err, "--json", "--output-limit", "1g", "x"), -1);
        assert_non_null(strstr(err.msg, "--output-limit"));
        assert_int_equal(READ(&a, &err, "--output-limit", "1g", "x"), 0);
        cay_run_args_done(&a);
}

static void help_shows_the_issue_s_options(void **state)
{
        static const char *const names[] = { "template", "workspace", "memory",    "cpus",     "pids",
                                             "disk",     "inodes",    "timeout",   "cpu-time", "output-limit",
                                             "env",      "user",      "read-only", "engine",   "id",
                                             "tty",      "json",      "quiet" };
        static char text[8000];
        FILE *f = fmemopen(text, sizeof(text), "w");
        char option[32];

        cay_run_args_print_help(f);
        fclose(f);
        for (unsigned i = 0; i < CAY_COUNT(names); i++) {
                snprintf(option, sizeof(option), "  --%s", names[i]);
                assert_non_null(strstr(text, option));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(defaults),
                cmocka_unit_test(every_option),
                cmocka_unit_test(a_workspace_is_read_only_unless_asked_for),
                cmocka_unit_test(changes_are_kept_for_a_while),
                cmocka_unit_test(mistakes_name_their_option),
                cmocka_unit_test(layers_can_be_left_out_in_test_builds_only),
                cmocka_unit_test(a_command_is_needed),
                cmocka_unit_test(json_keeps_only_so_much),
                cmocka_unit_test(help_shows_the_issue_s_options),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
