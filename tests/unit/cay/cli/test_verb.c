/* SPDX-License-Identifier: Apache-2.0 */
/* A verb's row against argv: options, words, commands. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cay/cli/verb.h"

#define READ(a, err, verb, ...)                                                                              \
        ({                                                                                                   \
                static char *argv_[] = { (char *)verb, __VA_ARGS__ __VA_OPT__(, ) NULL };                    \
                cay_verb_read(a, cay_verb_find(verb), (int)CAY_COUNT(argv_) - 1, argv_, err);                \
        })

static void options_anywhere(void **state)
{
        struct cay_verb_args a;
        struct cay_error err = { 0 };

        assert_int_equal(
                READ(&a, &err, "extend", "--json", "box", "--idle-timeout=5m", "2h", "--url", "http://x"), 0);
        assert_string_equal(cay_values_get(&a.values, "id"), "box");
        assert_string_equal(cay_values_get(&a.values, "timeout"), "2h");
        assert_string_equal(cay_values_get(&a.values, "idle_timeout"), "5m");
        assert_string_equal(a.reach.url, "http://x");
        assert_true(a.json);
        cay_verb_args_done(&a);
}

static void commands_keep_their_options(void **state)
{
        struct cay_verb_args a;
        struct cay_error err = { 0 };

        assert_int_equal(READ(&a, &err, "exec", "-te", "A=b", "-w/tmp", "box", "-q", "ls", "-l", "--json"),
                         0);
        assert_string_equal(cay_values_get(&a.values, "tty"), "true");
        assert_string_equal(cay_values_get(&a.values, "env"), "A=b");
        assert_string_equal(cay_values_get(&a.values, "workdir"), "/tmp");
        assert_true(a.quiet && !a.json);
        assert_int_equal(a.rest_count, 3);
        assert_string_equal(a.rest[0], "ls");
        assert_string_equal(a.rest[2], "--json");
        cay_verb_args_done(&a);
        assert_int_equal(READ(&a, &err, "shell", "box"), 0);
        assert_int_equal(a.rest_count, 0);
        cay_verb_args_done(&a);
}

/* What may be left out may stand where it stands in requests. */
static void a_word_or_an_option(void **state)
{
        struct cay_verb_args a;
        struct cay_error err = { 0 };

        assert_int_equal(READ(&a, &err, "create", "python"), 0);
        assert_string_equal(cay_values_get(&a.values, "template"), "python");
        cay_verb_args_done(&a);
        assert_int_equal(READ(&a, &err, "create", "--template", "python", "--name=x"), 0);
        assert_string_equal(cay_values_get(&a.values, "template"), "python");
        cay_verb_args_done(&a);
        assert_int_equal(READ(&a, &err, "events", "--id", "x"), -1);
        cay_verb_args_done(&a);
}

static void several_words(void **state)
{
        struct cay_verb_args a;
        struct cay_error err = { 0 };

        assert_int_equal(READ(&a, &err, "rm", "one", "--json", "two"), 0);
        assert_int_equal(a.word_count, 2);
        assert_string_equal(a.words[1], "two");
        cay_verb_args_done(&a);
        assert_int_equal(READ(&a, &err, "stats"), 0);
        assert_int_equal(a.word_count, 0);
        cay_verb_args_done(&a);
        assert_int_equal(READ(&a, &err, "cp", "a", "box:b"), 0);
        assert_int_equal(a.word_count, 2);
        cay_verb_args_done(&a);
}

static void another_op_without_a_word(void **state)
{
        struct cay_verb_args a;
        struct cay_error err = { 0 };

        assert_int_equal(READ(&a, &err, "events", "--kind", "x"), 0);
        assert_string_equal(a.values.op->name, "event_list");
        assert_string_equal(cay_values_get(&a.values, "kind"), "x");
        cay_verb_args_done(&a);
        assert_int_equal(READ(&a, &err, "events", "box"), 0);
        assert_string_equal(a.values.op->name, "sandbox_events");
        cay_verb_args_done(&a);
}

static void names_are_flat_or_renamed(void **state)
{
        struct cay_verb_args a;
        struct cay_error err = { 0 };

        assert_int_equal(READ(&a, &err, "create", "--memory", "64m", "--label", "a=b", "--read-only"), 0);
        assert_string_equal(cay_values_get(&a.values, "limits.memory"), "64m");
        assert_string_equal(cay_values_get(&a.values, "labels"), "a=b");
        cay_verb_args_done(&a);
}

static void mistakes(void **state)
{
        struct cay_verb_args a;
        struct cay_error err = { 0 };

        assert_int_equal(READ(&a, &err, "get"), -1);
        assert_non_null(strstr(err.msg, "SANDBOX"));
        cay_verb_args_done(&a);
        assert_int_equal(READ(&a, &err, "get", "a", "b"), -1);
        cay_verb_args_done(&a);
        assert_int_equal(READ(&a, &err, "get", ""), -1);
        cay_verb_args_done(&a);
        assert_int_equal(READ(&a, &err, "exec", "box"), -1);
        assert_non_null(strstr(err.msg, "COMMAND"));
        cay_verb_args_done(&a);
        assert_int_equal(READ(&a, &err, "ls", "--lable", "x"), -1);
        assert_non_null(strstr(err.msg, "--label"));
        cay_verb_args_done(&a);
        assert_int_equal(READ(&a, &err, "ls", "--limit", "x"), -1);
        assert_non_null(strstr(err.msg, "--limit"));
        cay_verb_args_done(&a);
        assert_int_equal(READ(&a, &err, "ls", "--help"), 1);
        cay_verb_args_done(&a);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(options_anywhere),
                cmocka_unit_test(commands_keep_their_options),
                cmocka_unit_test(a_word_or_an_option),
                cmocka_unit_test(several_words),
                cmocka_unit_test(another_op_without_a_word),
                cmocka_unit_test(names_are_flat_or_renamed),
                cmocka_unit_test(mistakes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
