/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-agent/install.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* With a manager it is tested in tests/integration/serve/test_remote.py. */
static void words_are_quoted_for_systemd(void **state)
{
        static const struct {
                const char *word, *quoted;
        } rows[] = {
                { "", "\"\"" },
                { "/usr/bin/cay-agent", "\"/usr/bin/cay-agent\"" },
                { "/home/me/my folder", "\"/home/me/my folder\"" },
                { "100%", "\"100%%\"" },
                { "$HOME", "\"$$HOME\"" },
                { "a\"b\\c", "\"a\\\"b\\\\c\"" },
                { "wss://\xc3\xa4.example/agent", "\"wss://\xc3\xa4.example/agent\"" },
        };
        char got[64];

        for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                assert_int_equal(agent_install_quote(rows[i].word, got, sizeof(got)), 0);
                assert_string_equal(got, rows[i].quoted);
                for (size_t size = 0; size <= strlen(rows[i].quoted); size++)
                        assert_int_equal(agent_install_quote(rows[i].word, got, size), -1);
        }
        assert_int_equal(agent_install_quote("a\nExecStartPre=b", got, sizeof(got)), -1);
        assert_int_equal(agent_install_quote("a\x7f", got, sizeof(got)), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(words_are_quoted_for_systemd),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
