/* SPDX-License-Identifier: Apache-2.0 */
/* What a mistyped key may have meant, and when nothing is near. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "domain/templates/fields.h"

static const struct cay_field table[] = {
        { "memory", CAY_FIELD_TEXT, 0, 0, "" },
        { "cpus", CAY_FIELD_TEXT, 0, 0, "" },
        { "network_mode", CAY_FIELD_TEXT, 0, 0, "" },
        { "needs_confirm", CAY_FIELD_TEXT, 0, 0, "" },
        {},
};

static void near(void **state)
{
        assert_string_equal(cay_registry_suggest(table, "memroy"), "memory");
        assert_string_equal(cay_registry_suggest(table, "Memory"), "memory");
        assert_string_equal(cay_registry_suggest(table, "mem0ry"), "memory");
        assert_string_equal(cay_registry_suggest(table, "cpu"), "cpus");
        assert_string_equal(cay_registry_suggest(table, "network-mode"), "network_mode");
        assert_string_equal(cay_registry_suggest(table, "need_confirm"), "needs_confirm");
}

static void far(void **state)
{
        assert_null(cay_registry_suggest(table, "timeout"));
        assert_null(cay_registry_suggest(table, ""));
        assert_null(cay_registry_suggest(table, "x"));
        assert_null(cay_registry_suggest(table, "a word that is much longer than any key there is"));
}

static void keys_are_unique_documented_and_short_enough_to_be_suggested(void **state)
{
        const struct cay_field *const tables[] = { cay_registry_template_fields, cay_registry_settings_fields,
                                                   cay_registry_root_fields };

        for (unsigned i = 0; i < CAY_COUNT(tables); i++) {
                for (const struct cay_field *f = tables[i]; f->name; f++) {
                        assert_true(strlen(f->name) <= 24 && strlen(f->doc) > 0);
                        assert_ptr_equal(cay_field_find(tables[i], f->name, strlen(f->name)), f);
                        for (const struct cay_field *sub = f->fields; sub && sub->name; sub++)
                                assert_ptr_equal(cay_field_find(f->fields, sub->name, strlen(sub->name)),
                                                 sub);
                }
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(near),
                cmocka_unit_test(far),
                cmocka_unit_test(keys_are_unique_documented_and_short_enough_to_be_suggested),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
