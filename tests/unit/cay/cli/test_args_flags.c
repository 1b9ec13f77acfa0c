/* SPDX-License-Identifier: Apache-2.0 */
/* Options from a table: what is taken, where the options end, and what is said about mistakes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cay/cli/args_flags.h"

struct args {
        bool loud;
        const char *name;
        struct cay_flag_list tags;
};

static const struct cay_flag table[] = {
        { "loud", NULL, "make noise", cay_flag_set_true, offsetof(struct args, loud), 'l' },
        { "name", "NAME", "what it is called", cay_flag_set_text, offsetof(struct args, name) },
        { "tag", "WORD", "may come several times", cay_flag_add_text, offsetof(struct args, tags), 't' },
        {},
};

#define PARSE(args, rest, err, ...)                                                                          \
        ({                                                                                                   \
                char *argv_[] = { (char *)"verb", __VA_ARGS__, NULL };                                       \
                cay_flags_parse(table, (int)CAY_COUNT(argv_) - 1, argv_, args, rest, err);                   \
        })

static void takes_options(void **state)
{
        struct args a = { 0 };
        struct cay_error err = { 0 };
        int rest = 0;

        assert_int_equal(PARSE(&a, &rest, &err, "--loud", "--name", "x", "--tag=1", "--tag", "2=3", "word",
                               "--loud"),
                         0);
        assert_true(a.loud);
        assert_string_equal(a.name, "x");
        assert_int_equal(a.tags.count, 2);
        assert_string_equal(a.tags.items[0], "1");
        assert_string_equal(a.tags.items[1], "2=3");
        assert_null(a.tags.items[2]);
        assert_int_equal(rest, 7); /* options behind the first word are the command's */
        cay_flag_list_done(&a.tags);
}

static void letters(void **state)
{
        struct args a = { 0 };
        struct cay_error err = { 0 };
        int rest = 0;

        assert_int_equal(PARSE(&a, &rest, &err, "-lt", "1", "-t2", "-lt3", "word"), 0);
        assert_true(a.loud);
        assert_int_equal(a.tags.count, 3);
        assert_string_equal(a.tags.items[0], "1");
        assert_string_equal(a.tags.items[1], "2");
        assert_string_equal(a.tags.items[2], "3");
        assert_int_equal(rest, 5);
        assert_int_equal(PARSE(&a, &rest, &err, "-lx"), -1);
        assert_int_equal(PARSE(&a, &rest, &err, "-t"), -1);
        cay_flag_list_done(&a.tags);
}

static void options_end(void **state)
{
        struct args a = { 0 };
        struct cay_error err = { 0 };
        int rest = 0;

        assert_int_equal(PARSE(&a, &rest, &err, "--loud", "--", "--name"), 0);
        assert_int_equal(rest, 3);
        assert_int_equal(PARSE(&a, &rest, &err, "-"), 0);
        assert_int_equal(rest, 1);
        assert_int_equal(PARSE(&a, &rest, &err, "--name", "--"), 0); /* a value may look like anything */
        assert_string_equal(a.name, "--");
        assert_int_equal(rest, 3);
        assert_int_equal(PARSE(&a, &rest, &err, "--loud", "--help", "--nonsense"), 1);
        assert_int_equal(PARSE(&a, &rest, &err, "-h"), 1);
}

static void mistakes_are_named(void **state)
{
        struct args a = { 0 };
        struct cay_error err = { 0 };
        int rest = 99;

        assert_int_equal(PARSE(&a, &rest, &err, "--naem", "x"), -1);
        assert_string_equal(err.msg, "unknown option '--naem' (did you mean --name?)");
        assert_int_equal(err.code, CAY_INVALID);
        assert_int_equal(PARSE(&a, &rest, &err, "--nmae=x"), -1);
        assert_string_equal(err.msg, "unknown option '--nmae=x' (did you mean --name?)");
        assert_int_equal(PARSE(&a, &rest, &err, "--zebra"), -1);
        assert_string_equal(err.msg, "unknown option '--zebra'");
        assert_int_equal(PARSE(&a, &rest, &err, "-x"), -1);
        assert_string_equal(err.msg, "unknown option '-x'");
        assert_int_equal(PARSE(&a, &rest, &err, "--name"), -1);
        assert_string_equal(err.msg, "--name needs a value (NAME)");
        assert_int_equal(PARSE(&a, &rest, &err, "--loud=yes"), -1);
        assert_string_equal(err.msg, "--loud takes no value");
        assert_int_equal(PARSE(&a, &rest, &err, "--name="), -1);
        assert_string_equal(err.msg, "--name: the value is empty");
        assert_int_equal(PARSE(&a, &rest, &err, "--nam", "x"),
                         -1); /* no abbreviations: they break when options are added */
        assert_int_equal(rest, 99);
}

static void help_has_every_row(void **state)
{
        char text[1000] = "";
        FILE *f = fmemopen(text, sizeof(text), "w");

        assert_non_null(f);
        cay_flags_print(table, f);
        fclose(f);
        for (const struct cay_flag *flag = table; flag->name != NULL; flag++) {
                assert_non_null(strstr(text, flag->name));
                assert_non_null(strstr(text, flag->doc));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(takes_options),      cmocka_unit_test(letters),
                cmocka_unit_test(options_end),        cmocka_unit_test(mistakes_are_named),
                cmocka_unit_test(help_has_every_row),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
