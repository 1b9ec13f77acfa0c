/* SPDX-License-Identifier: Apache-2.0 */
/* Names of snapshots. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dialects/e2b/e2b_priv.h"

static void test_names(void **state)
{
        static const struct {
                const char *name, *tag, *snapshot, *back;
        } rows[] = {
                { "plain", NULL, "plain", "plain:default" },
                { "plain:default", NULL, "plain", "plain:default" },
                { "plain:v1", NULL, "plain--v1", "plain:v1" },
                { "Team/Plain:V1", NULL, "plain--v1", "plain:v1" },
                { "plain:v1", "v2", "plain--v2", "plain:v2" },
                { "plain:v1", "default", "plain", "plain:default" },
                { "a-b:c-d", NULL, "a-b--c-d", "a-b:c-d" },
        };
        char got[CAY_NAME_MAX + 1], back[E2B_TAGGED_MAX];
        struct cay_error err = { 0 };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                assert_int_equal(e2b_snapshot_name(rows[i].name, rows[i].tag, got, &err), 0);
                assert_string_equal(got, rows[i].snapshot);
                e2b_tagged_name(got, back);
                assert_string_equal(back, rows[i].back);
        }
        (void)state;
}

static void test_refused(void **state)
{
        static const char *const rows[] = {
                "",
                ":",
                "a b",
                "a_b",
                "a:b_c",
                "a--b",
                "a:b--c",
                "-a",
                "a-",
                "a:",
                "a:b:c",
                "a/",
                "\xc3\xa9",
                "a:-b",
                "a-:b",
                "0123456789012345678901234567890123456789012345678901234567890123",
                "012345678901234567890123456789012345678901234567890123456789:tag1"
        };
        char got[CAY_NAME_MAX + 1];

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                struct cay_error err = { 0 };

                if (e2b_snapshot_name(rows[i], NULL, got, &err) == 0)
                        fail_msg("'%s' became '%s'", rows[i], got);
                assert_int_equal(err.code, CAY_INVALID);
        }
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_names), cmocka_unit_test(test_refused) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
