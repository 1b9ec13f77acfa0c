/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a .env file: what is taken, what is left, and what quotes and comments do. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "domain/settings/config_priv.h"

static struct cay_config c;
static struct cay_error err;

static int read_text(const char *text)
{
        char copy[2048];

        cay_config_done(&c);
        err = (struct cay_error){ 0 };
        assert_int_equal(cay_config_init(&c, &err), 0);
        snprintf(copy, sizeof(copy), "%s", text);
        return cay_config_read_dotenv_text(&c, copy, &err);
}

static void takes_what_is_ours(void **state)
{
        assert_int_equal(read_text("SANDBOX_MAX_PIDS=21\nPORT=1\nHOST=x\nOTHER='\n\nno sign\n# CAY_DATA=/x\n"
                                   "CAY_CONFIG=/x\nCAY_NO_SUCH=1\nSANDBOX_MAX_MEMORY_MB=\n"),
                         0);
        assert_int_equal(c.max_pids, 21);
        assert_string_equal(c.where[CAY_CONFIG_KEY_max_pids], ".env:1");
        assert_int_equal(c.source[CAY_CONFIG_KEY_max_pids], CAY_CONFIG_FILE);
        assert_int_equal(c.port, 8888);
        assert_string_equal(c.host, "127.0.0.1");
        assert_string_equal(c.data, "/var/lib/cay");
        assert_string_equal(c.config, "");
        assert_int_equal(c.source[CAY_CONFIG_KEY_max_memory], CAY_CONFIG_DEFAULT);
}

static void values(void **state)
{
        static const struct {
                const char *line, *value;
        } rows[] = {
                { "DOCKER_HOST=unix:///run/x.sock", "unix:///run/x.sock" },
                { "  export DOCKER_HOST = unix:///x  ", "unix:///x" },
                { "DOCKER_HOST=unix:///x # a comment", "unix:///x" },
                { "DOCKER_HOST=unix:///x#none", "unix:///x#none" },
                { "DOCKER_HOST=\"unix:///x # none\" # one", "unix:///x # none" },
                { "DOCKER_HOST='a\\b'", "a\\b" },
                { "DOCKER_HOST=\"a\\\"b\\\\c\\n\"", "a\"b\\c\\n" },
                { "DOCKER_HOST=unix:///x\r", "unix:///x" },
                { "DOCKER_HOST=${HOME}", "${HOME}" },
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                assert_int_equal(read_text(rows[i].line), 0);
                assert_string_equal(c.docker_host, rows[i].value);
        }
}

static void faults_have_a_line(void **state)
{
        assert_int_equal(read_text("\nCAY_DATA=\"/x\n"), -1);
        assert_string_equal(err.msg, ".env:2: a quotation mark is not closed");
        assert_int_equal(read_text("\n\nCAY_MAX_PIDS=many\n"), -1);
        assert_true(strncmp(err.msg, ".env:3:", 7) == 0);
}

/* Docker's own programs read these two; what is in the environment stays. */
static void docker_has_variables_of_its_own(void **state)
{
        unsetenv("DOCKER_TLS_VERIFY");
        setenv("DOCKER_CERT_PATH", "/given", 1);
        assert_int_equal(read_text("DOCKER_TLS_VERIFY=1\nDOCKER_CERT_PATH=/certs/client\n"), 0);
        assert_string_equal(getenv("DOCKER_TLS_VERIFY"), "1");
        assert_string_equal(getenv("DOCKER_CERT_PATH"), "/given");
}

static void variables_have_keys(void **state)
{
        assert_int_equal(cay_config_find_variable("CAY_PORT"), CAY_CONFIG_KEY_port);
        assert_int_equal(cay_config_find_variable("SANDBOX_MODE"), CAY_CONFIG_KEY_sandbox_mode);
        assert_int_equal(cay_config_find_variable("CAY_"), -1);
        assert_int_equal(cay_config_find_variable(""), -1);
}

static int done(void **state)
{
        cay_config_done(&c);
        return 0;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(takes_what_is_ours),  cmocka_unit_test(values),
                cmocka_unit_test(faults_have_a_line),  cmocka_unit_test(docker_has_variables_of_its_own),
                cmocka_unit_test(variables_have_keys),
        };

        return cmocka_run_group_tests(tests, NULL, done);
}
