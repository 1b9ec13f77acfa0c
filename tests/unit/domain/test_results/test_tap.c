/* SPDX-License-Identifier: Apache-2.0 */
/* TAP, as prove, node and others write it, between other output. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cases.h"

static void expect(const char *tap, int result, const char *cases, const char *problem)
{
        static struct told t;
        struct cay_error err;

        for (size_t piece = 1; piece < 50; piece++) {
                assert_int_equal(read_cases(tap, strlen(tap), piece, &t, &err), result);
                assert_string_equal(t.text, cases);
                if (problem)
                        assert_non_null(strstr(err.msg, problem));
        }
}

static void test_plain(void **state)
{
        expect("output of the program\nTAP version 13\n1..5\nok 1 - first\nok\nnot ok 3 third\n# why it "
               "failed\n#   and more\n"
               "ok 4 - none # SKIP no network\nnot ok 5 - later # TODO: not done\n",
               0,
               "||first|passed|||-1\n|||passed|||-1\n||third|failed||why it failed\nand "
               "more\n|-1\n||none|skipped|no network||-1\n"
               "||later|skipped|not done||-1\n",
               NULL);
        (void)state;
}

static void test_yaml_and_subtests(void **state)
{
        expect("TAP version 13\n# Subtest: outer\n    # Subtest: inner\n    not ok 1 - inner\n      ---\n    "
               "  duration_ms: 1.5\n"
               "      error: 'not equal'\n      stack: |-\n        at x\n      ...\n    1..1\nnot ok 1 - "
               "outer\n  ---\n"
               "  duration_ms: 20\n  ...\n1..1\r\n",
               0,
               "outer||inner|failed|not equal|duration_ms: 1.5\nerror: 'not equal'\nstack: |-\nat x\n|1500\n"
               "||outer|failed||duration_ms: 20\n|20000\n",
               NULL);
        (void)state;
}

static void test_what_is_missing(void **state)
{
        expect("1..3\nok 1\nok 2", -1, "|||passed|||-1\n|||passed|||-1\n",
               "3 tests were planned, and 2 were reported");
        expect("1..3\nok 1\nBail out! the disk is gone\nok 2\n", -1,
               "|||passed|||-1\n||Bail out!|error|the disk is gone||-1\n", "planned");
        expect("just text\nokay\n", -1, "", "neither");
        expect("1..0 # SKIP nothing here\n", 0, "", NULL);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_plain),
                cmocka_unit_test(test_yaml_and_subtests),
                cmocka_unit_test(test_what_is_missing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
