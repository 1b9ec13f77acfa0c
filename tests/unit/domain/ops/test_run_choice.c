/* SPDX-License-Identifier: Apache-2.0 */
/* Which template a run is made from, and which program takes its code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "domain/ops/run_choice.h"

static const char *ruby_words[] = { "ruby", "-", NULL }, *sh_words[] = { "/bin/sh", "-e", NULL },
                  *run_python[] = { "run python", NULL };
static const struct cay_template rows[] = {
        { .name = "ruby", .interpret = { ruby_words, 2, NULL }, .available = true },
        { .name = "snake", .triggers = { run_python, 1, NULL }, .available = true },
        { .name = "shell", .interpret = { sh_words, 2, NULL }, .available = true },
        { .name = "host", .available = true },
};
static const struct cay_template_set set = { .rows = rows, .count = CAY_COUNT(rows) };

static struct cay_arena mem;

static enum cay_code choose(const struct cay_template_set *from, struct cay_run_asks asks,
                            struct cay_run_choice *ret, const char **ret_field)
{
        struct cay_error err = { 0 };

        *ret_field = NULL;
        return cay_run_choose(from, &asks, &mem, ret, ret_field, &err) < 0 ? err.code : CAY_OK;
}

static void test_templates(void **state)
{
        static const struct {
                struct cay_run_asks asks;
                const char *name;
        } good[] = {
                { { .template_name = "ruby", .has_code = true }, "ruby" },
                { { .template_name = "nowhere", .has_code = true },
                  "nowhere" }, /* refused where it is made */
                { { .task = "Please RUN python now", .has_code = true }, "snake" },
                { { .task = "please run python now" }, "snake" },
                { { .template_name = "ruby", .task = "run python", .has_code = true }, "ruby" },
                { { .has_code = true }, "snake" }, /* python, by its trigger */
                { { .language = "py", .has_code = true }, "snake" },
                { { .language = "BASH", .has_code = true }, "shell" },
                { { .language = "ruby", .has_code = true }, "ruby" },
                { { 0 }, "host" },
        };
        struct cay_run_choice c;
        const char *field;

        for (size_t i = 0; i < CAY_COUNT(good); i++) {
                assert_int_equal(choose(&set, good[i].asks, &c, &field), CAY_OK);
                assert_string_equal(c.template_name, good[i].name);
                assert_null(field);
        }
        assert_int_equal(choose(&set, (struct cay_run_asks){ .task = "dance" }, &c, &field), CAY_NOT_FOUND);
        assert_string_equal(field, "task");
        assert_int_equal(choose(&set, (struct cay_run_asks){ .language = "js", .has_code = true }, &c,
                                &field),
                         CAY_NOT_FOUND);
        assert_int_equal(choose(&set, (struct cay_run_asks){ .language = "cobol", .has_code = true }, &c,
                                &field),
                         CAY_INVALID);
        assert_string_equal(field, "language");
        (void)state;
}

static void test_programs(void **state)
{
        struct cay_run_choice c;
        const char *field;

        assert_int_equal(choose(&set, (struct cay_run_asks){ .template_name = "ruby", .has_code = true }, &c,
                                &field),
                         0);
        assert_int_equal(c.interpreter.count, 2);
        assert_string_equal(c.interpreter.items[0], "ruby");
        assert_ptr_not_equal(c.interpreter.items[0], ruby_words[0]); /* outlives the set */
        assert_null(c.interpreter.items[2]);
        assert_int_equal(
                choose(&set,
                       (struct cay_run_asks){ .template_name = "ruby", .language = "js", .has_code = true },
                       &c, &field),
                0);
        assert_string_equal(c.interpreter.items[0], "node");
        assert_int_equal(
                choose(&set, (struct cay_run_asks){ .language = "ruby", .has_code = true }, &c, &field), 0);
        assert_string_equal(c.interpreter.items[0], "ruby");
        assert_int_equal(
                choose(&set, (struct cay_run_asks){ .language = "sh", .has_code = true }, &c, &field), 0);
        assert_string_equal(c.interpreter.items[1], "-e"); /* as the template says */
        assert_int_equal(
                choose(&set, (struct cay_run_asks){ .language = "bash", .has_code = true }, &c, &field), 0);
        assert_string_equal(c.template_name, "shell");
        assert_string_equal(c.interpreter.items[0], "bash"); /* which its /bin/sh is not */
        assert_int_equal(
                choose(&set,
                       (struct cay_run_asks){ .template_name = "shell", .language = "zsh", .has_code = true },
                       &c, &field),
                CAY_INVALID);
        assert_string_equal(field, "language");
        assert_int_equal(choose(&set, (struct cay_run_asks){ .template_name = "ruby" }, &c, &field), 0);
        assert_int_equal(c.interpreter.count, 0);
        (void)state;
}

static void test_without_a_set(void **state)
{
        struct cay_run_choice c;
        const char *field;

        assert_int_equal(choose(NULL, (struct cay_run_asks){ .has_code = true }, &c, &field), CAY_OK);
        assert_string_equal(c.template_name, "host");
        assert_string_equal(c.interpreter.items[0], "python3");
        assert_int_equal(choose(NULL, (struct cay_run_asks){ .language = "sh", .has_code = true }, &c,
                                &field),
                         CAY_OK);
        assert_string_equal(c.interpreter.items[0], "/bin/sh");
        assert_int_equal(choose(NULL, (struct cay_run_asks){ .language = "bash", .has_code = true }, &c,
                                &field),
                         CAY_OK);
        assert_string_equal(c.interpreter.items[0], "bash");
        assert_int_equal(choose(NULL, (struct cay_run_asks){ .language = "nodejs", .has_code = true }, &c,
                                &field),
                         CAY_OK);
        assert_string_equal(c.interpreter.items[0], "node");
        assert_int_equal(choose(NULL, (struct cay_run_asks){ .task = "run python" }, &c, &field),
                         CAY_NOT_FOUND);
        assert_int_equal(choose(NULL, (struct cay_run_asks){ .language = "x", .has_code = true }, &c, &field),
                         CAY_INVALID);
        (void)state;
}

static void test_no_memory(void **state)
{
        const char *words[] = { "0123456789", NULL };
        const struct cay_field_texts many = { words, 1, NULL };
        struct cay_arena small;
        struct cay_field_texts copy;

        cay_arena_init(&small, 8);
        assert_int_equal(cay_run_copy_words(&small, &many, &copy), -1);
        cay_arena_done(&small);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_templates),
                cmocka_unit_test(test_programs),
                cmocka_unit_test(test_without_a_set),
                cmocka_unit_test(test_no_memory),
        };
        int r;

        cay_arena_init(&mem, 1 << 20);
        r = cmocka_run_group_tests(tests, NULL, NULL);
        cay_arena_done(&mem);
        return r;
}
