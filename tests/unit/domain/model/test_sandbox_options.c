/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single values of sandboxes: what was asked for wins over a template's, and the rows are usable by every
 * reader.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "domain/model/sandbox_options.h"

static void what_is_asked_for_wins(void **state)
{
        struct cay_sandbox_options asked = { .own_user_only = true }, other = { .read_only = true };

        cay_sandbox_options_fill(&asked, &other);
        assert_true(asked.read_only && asked.own_user_only && !asked.no_init);
        cay_sandbox_options_fill(&asked, &(struct cay_sandbox_options){ 0 });
        assert_true(asked.read_only && asked.own_user_only);
}

static void copies(void **state)
{
        cay_auto_arena struct cay_arena mem = { .max = 4096 };
        struct cay_sandbox_options from = { .read_only = true, .no_init = true },
                                   to = { .own_user_only = true };

        assert_int_equal(cay_sandbox_options_copy(&mem, &from, &to), 0);
        assert_memory_equal(&from, &to, sizeof(from));
}

/* Names are keys of requests, records and answers; heads fit the CLI's columns. */
static void rows(void **state)
{
        static const struct {
                const char *name, *uses, *head, *doc;
        } all[] = {
#define CAY_SANDBOX_FIELD(kind, name, uses, head, doc) { #name, #uses, head, doc },
#include "domain/model/sandbox_fields.def"
#undef CAY_SANDBOX_FIELD
        };
        static const struct cay_field asked[] = {
#define CAY_SANDBOX_FIELD(kind, name, uses, head, doc)                                                       \
        CAY_OPTION_IF_ASKED_##uses(CAY_OPTION_ROW(kind, name, offsetof(struct cay_sandbox_options, name),    \
                                                  doc), )
#include "domain/model/sandbox_fields.def"
#undef CAY_SANDBOX_FIELD
                {},
        };

        for (unsigned i = 0; i < CAY_COUNT(all); i++) {
                bool is_public = strcmp(all[i].uses, "PUBLIC") == 0;

                assert_true(strlen(all[i].name) < 24 && strlen(all[i].head) < 16 && all[i].doc[0]);
                assert_int_equal(is_public, all[i].head[0] != '\0');
                assert_int_equal(is_public, cay_field_find(asked, all[i].name, strlen(all[i].name)) != NULL);
                for (unsigned k = 0; k < i; k++)
                        assert_string_not_equal(all[i].name, all[k].name);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_asked_for_wins),
                cmocka_unit_test(copies),
                cmocka_unit_test(rows),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
