/* SPDX-License-Identifier: Apache-2.0 */
/* Looking templates up by name and by what a task says. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "domain/model/template.h"

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

static void words_in_any_white_space_and_case(void **state)
{
        assert_string_equal(match("please run  python"), "python");
        assert_string_equal(match("run\npython"), "python");
        assert_string_equal(match("Run\t \r\n PYTHON."), "python");
        assert_string_equal(match("run\xc2\xa0python"), "python");     /* a blank that does not break */
        assert_string_equal(match("run\xe3\x80\x80python"), "python"); /* a wide one */
        assert_string_equal(match("run\npython\n\nscript"), "shell");
        assert_string_equal(match("runpython"), "none");
        assert_int_equal(cay_template_trigger("  run\t\tpython ", "so run python"), strlen("run\t\tpython "));
        assert_int_equal(cay_template_trigger("run", "run"), 3);
        assert_int_equal(cay_template_trigger(" ", "a  b"), 0);
        assert_int_equal(cay_template_trigger("", "a"), 0);
        assert_true(cay_template_trigger("pr\xc3\xbc"
                                         "fe",
                                         "BITTE PR\xc3\x9c"
                                         "FE") > 0);
        assert_true(cay_template_trigger("\xd0\x97\xd0\xb0\xd0\xbf\xd1\x83\xd1\x81\xd1\x82\xd0\xb8",
                                         "\xd0\xb7\xd0\x90\xd0\xbf\xd1\x83\xd1\x81\xd1\x82\xd0\xb8!") > 0);
        assert_true(cay_template_trigger("\xe8\xbf\x90\xe8\xa1\x8c", "\xe8\xaf\xb7\xe8\xbf\x90\xe8\xa1\x8c") >
                    0);
        assert_int_equal(cay_template_trigger("run\xff", "run\xff"), 4); /* bytes that are not UTF-8 */
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
                cmocka_unit_test(words_in_any_white_space_and_case),
                cmocka_unit_test(what_is_not_available_says_why),
                cmocka_unit_test(every_root_has_a_word),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
