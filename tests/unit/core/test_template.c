/* SPDX-License-Identifier: Apache-2.0 */
/* Looking templates up by name and by what a task says. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/template.h"

static const char *python_words[] = { "execute code", "run python", "test this", NULL };
static const char *shell_words[] = { "run", "run python script", NULL };

static const struct cay_template rows[] = {
        { .name = "python", .triggers = { python_words, 3, NULL }, .available = true },
        { .name = "shell", .triggers = { shell_words, 2, NULL }, .why = "it needs bash" },
        { .name = "quiet" },
};
static const struct cay_template_set set = { .rows = rows, .count = CAY_COUNT(rows) };

static const char *match(const char *text)
{
        const struct cay_template *t = cay_template_match(&set, text);

        return t ? t->name : "none";
}

static void by_name(void **state)
{
        assert_ptr_equal(cay_template_find(&set, "shell"), &rows[1]);
        assert_null(cay_template_find(&set, "Shell"));
        assert_null(cay_template_find(&set, ""));
}

static void by_task(void **state)
{
        assert_string_equal(match("Please RUN PYTHON for me"), "python");
        assert_string_equal(match("run python script x.py"), "shell"); /* the longest wins */
        assert_string_equal(match("run it"), "shell");
        assert_string_equal(match("prune it, rerun, running"), "none"); /* whole words */
        assert_string_equal(match("run"), "shell");
        assert_string_equal(match("(run)"), "shell");
        assert_string_equal(match("test this!"), "python");
        assert_string_equal(match("test\xc3\xa4 this"), "none");
        assert_string_equal(match(""), "none");
}

static void what_is_not_available_says_why(void **state)
{
        struct cay_error err = { 0 };

        assert_int_equal(cay_template_check(&rows[0], &err), 0);
        assert_int_equal(cay_template_check(&rows[1], &err), -1);
        assert_int_equal(err.code, CAY_CONFLICT);
        assert_string_equal(err.msg, "template 'shell' is not available here: it needs bash");
}

static void every_root_has_a_word(void **state)
{
        for (unsigned i = 0; i < CAY_TEMPLATE_ROOT_COUNT; i++)
                assert_true(strlen(cay_template_root_word(i)) > 0);
        assert_string_equal(cay_template_root_word(CAY_TEMPLATE_ROOT_COUNT), "none");
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(by_name),
                cmocka_unit_test(by_task),
                cmocka_unit_test(what_is_not_available_says_why),
                cmocka_unit_test(every_root_has_a_word),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
