/* SPDX-License-Identifier: Apache-2.0 */
/* The file: forms of lines, errors with file and line. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "domain/settings/config.h"

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

static void reads(const char *text)
{
        struct cay_error err = { 0 };

        if (cay_config_read_text(&c, "f", text, strlen(text), &err) < 0)
                fail_msg("%s", err.msg);
}

static void refuses(const char *text, const char *msg)
{
        struct cay_error err = { 0 };

        assert_int_equal(cay_config_read_text(&c, "f", text, strlen(text), &err), -1);
        assert_int_equal(err.code, CAY_INVALID);
        assert_string_equal(err.msg, msg);
}

static void forms_of_lines(void **state)
{
        reads("# a comment\n"
              "\n"
              "port = 1234\n"
              "  host=10.0.0.1   # behind a value\n"
              "data = \"/with # and \\\\ and \\\" in it \"   # c\r\n"
              "service_url = http://x/#fragment\n"
              "trusted_hosts = a, b\n"
              "\tengine\t=\tprocess\t\n"
              "socket = \n"
              "registry = \"\"");
        assert_int_equal(c.port, 1234);
        assert_string_equal(c.host, "10.0.0.1");
        assert_string_equal(c.data, "/with # and \\ and \" in it ");
        assert_string_equal(c.service_url, "http://x/#fragment");
        assert_int_equal(c.trusted_hosts.count, 2);
        assert_string_equal(c.engine, "process");
        assert_string_equal(c.socket, "");
        assert_string_equal(c.where[CAY_CONFIG_KEY_host], "f:4");
        assert_int_equal(c.source[CAY_CONFIG_KEY_host], CAY_CONFIG_FILE);
        assert_int_equal(c.source[CAY_CONFIG_KEY_max_pids], CAY_CONFIG_DEFAULT);
}

static void errors_name_the_line(void **state)
{
        refuses("\n\nport", "f:3: expected 'key = value'");
        refuses("= 3", "f:1: expected 'key = value'");
        refuses("port 3", "f:1: expected 'key = value'");
        refuses("prot = 3", "f:1: unknown key 'prot' (did you mean 'port'?)");
        refuses("trusted-host = a", "f:1: unknown key 'trusted-host' (did you mean 'trusted_hosts'?)");
        refuses("zzzzzzzzz = 3", "f:1: unknown key 'zzzzzzzzz' ('cay config' lists them)");
        refuses("port = 1\nport = 2", "f:2: port is already set in line 1");
        refuses("data = \"/x", "f:1: the closing \" is missing");
        refuses("data = \"/x\" y", "f:1: something follows the closing \"");
        refuses("data = \"/\\x\"", "f:1: \\ may only precede \" or \\");
        refuses("data = \"\\", "f:1: \\ may only precede \" or \\");
        refuses("\nport = x", "f:2: port = 'x' is not a whole number");
        refuses("config = /y", "f:1: a file can't name another file");
        refuses("port = \xff", "f: is not plain UTF-8 text");
}

static void binary_and_huge_files_are_refused(void **state)
{
        struct cay_error err = { 0 };
        char *big = calloc(1, CAY_CONFIG_FILE_MAX + 1);

        assert_int_equal(cay_config_read_text(&c, "f", "a\0b", 3, &err), -1);
        assert_int_equal(cay_config_read_text(&c, "f", big, CAY_CONFIG_FILE_MAX + 1, &err), -1);
        assert_non_null(strstr(err.msg, "at most 262144"));
        free(big);
}

static void a_value_that_is_too_long_is_refused(void **state)
{
        char text[CAY_CONFIG_VALUE_MAX + 64], quoted[CAY_CONFIG_VALUE_MAX + 64];

        snprintf(text, sizeof(text), "engine = %0*d", CAY_CONFIG_VALUE_MAX + 1, 0);
        refuses(text, "f:1: the value is too long");
        snprintf(quoted, sizeof(quoted), "engine = \"%0*d\"", CAY_CONFIG_VALUE_MAX + 1, 0);
        refuses(quoted, "f:1: the value is too long");
}

static void write_file(const char *path, const char *text, mode_t mode)
{
        int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

        assert_true(fd >= 0);
        assert_int_equal(write(fd, text, strlen(text)), strlen(text));
        assert_int_equal(fchmod(fd, mode), 0);
        close(fd);
}

static void files_are_read(void **state)
{
        char folder[] = "/tmp/cay-config-XXXXXX", path[64];
        struct cay_error err = { 0 };

        assert_non_null(mkdtemp(folder));
        snprintf(path, sizeof(path), "%s/cay.conf", folder);
        assert_int_equal(cay_config_read_file(&c, path, &err), -1);
        assert_int_equal(err.code, CAY_NOT_FOUND);
        assert_int_equal(cay_config_read_file(&c, folder, &err), -1);
        assert_int_equal(err.code, CAY_INVALID);
        write_file(path, "port = 7\n", 0644);
        assert_int_equal(cay_config_read_file(&c, path, &err), 0);
        assert_int_equal(c.port, 7);
        /* A secret in a file for everybody is refused. */
        write_file(path, "token_secret = 0123456789abcdef\n", 0644);
        assert_int_equal(cay_config_read_file(&c, path, &err), -1);
        assert_int_equal(err.code, CAY_DENIED);
        assert_null(strstr(err.msg, "0123456789"));
        assert_int_equal(chmod(path, 0600), 0);
        assert_int_equal(cay_config_read_file(&c, path, &err), 0);
        unlink(path);
        rmdir(folder);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test_setup_teardown(forms_of_lines, setup, teardown),
                cmocka_unit_test_setup_teardown(errors_name_the_line, setup, teardown),
                cmocka_unit_test_setup_teardown(binary_and_huge_files_are_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(a_value_that_is_too_long_is_refused, setup, teardown),
                cmocka_unit_test_setup_teardown(files_are_read, setup, teardown),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
