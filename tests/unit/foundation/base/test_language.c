/* SPDX-License-Identifier: Apache-2.0 */
/* Languages of code by name. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "foundation/base/language.h"

static const char *found(const char *word)
{
        const struct cay_language *l = cay_language_find(word, strlen(word));

        return l ? l->name : "";
}

static void test_find(void **state)
{
        assert_string_equal(found("python"), "python");
        assert_string_equal(found("PY3"), "python");
        assert_string_equal(found("nodejs"), "javascript");
        assert_string_equal(found("Node"), "javascript");
        assert_string_equal(found("sh"), "shell");
        assert_string_equal(found("bash"), "bash");
        assert_string_equal(found("c#"), "csharp");
        assert_string_equal(found(""), "");
        assert_string_equal(found("pyth"), "");
        assert_string_equal(found("py|python3"), "");
        (void)state;
}

/* No word stands for two languages, none is too long to be given back, and only programs have one. */
static void test_rows(void **state)
{
        const struct cay_language *l;
        char name[CAY_LANGUAGE_ALIAS_MAX], text[256];

        for (size_t i = 0; (l = cay_language_at(i)); i++) {
                size_t n = 0;

                while (cay_language_name_at(l, n, name)) {
                        assert_ptr_equal(cay_language_find(name, strlen(name)), l);
                        assert_true(strlen(name) + 1 < sizeof(name));
                        n++;
                }
                assert_true(n >= 1);
                assert_true(l->kind == CAY_LANGUAGE_PROGRAM || !l->program[0]);
                assert_true(!l->program[0] || l->program[1]);
                assert_non_null(l->template_name);
        }
        assert_string_equal(cay_languages_text(text, sizeof(text)), "python, javascript, shell, bash");
        assert_string_equal(cay_languages_text(text, 12), "python");
        assert_non_null(cay_language_find(CAY_LANGUAGE_DEFAULT, strlen(CAY_LANGUAGE_DEFAULT))->program[0]);
        (void)state;
}

static void test_names(void **state)
{
        const struct cay_language *l = cay_language_find("js", 2);
        char name[CAY_LANGUAGE_ALIAS_MAX];

        assert_true(cay_language_name_at(l, 0, name));
        assert_string_equal(name, "javascript");
        assert_true(cay_language_name_at(l, 1, name));
        assert_string_equal(name, "js");
        assert_true(cay_language_name_at(l, 5, name));
        assert_string_equal(name, "cjs");
        assert_false(cay_language_name_at(l, 6, name));
        assert_false(cay_language_name_at(l, 7, name));
        assert_false(cay_language_name_at(cay_language_find("bash", 4), 1, name));
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_find),
                cmocka_unit_test(test_rows),
                cmocka_unit_test(test_names),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
