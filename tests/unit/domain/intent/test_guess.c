/* SPDX-License-Identifier: Apache-2.0 */
/* Languages: by tag, by looks; the table itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "domain/intent/intent_priv.h"

static const char *by_tag(const char *tag)
{
        const struct cay_language *l = cay_language_find(tag, strlen(tag));

        return l ? l->name : "";
}

static const char *by_looks(const char *code)
{
        const struct cay_language *l = cay_intent_guess_language(code, strlen(code));

        return l ? l->name : "";
}

static void test_tags(void **state)
{
        assert_string_equal(by_tag("python"), "python");
        assert_string_equal(by_tag("PY"), "python");
        assert_string_equal(by_tag("node"), "javascript");
        assert_string_equal(by_tag("zsh"), "zsh");
        assert_string_equal(by_tag("bash"), "bash");
        assert_string_equal(by_tag("sh"), "shell");
        assert_string_equal(by_tag("c++"), "cpp");
        assert_string_equal(by_tag("yml"), "yaml");
        assert_string_equal(by_tag("pyth"), "");
        assert_string_equal(by_tag("py|python3"), "");
        assert_string_equal(by_tag(""), "");
        assert_int_equal(cay_language_find("json", 4)->kind, CAY_LANGUAGE_DATA);
        assert_int_equal(cay_language_find("rs", 2)->kind, CAY_LANGUAGE_PROGRAM);
        (void)state;
}

static void test_looks(void **state)
{
        assert_string_equal(by_looks("def f(x):\n    return x\n"), "python");
        assert_string_equal(by_looks("const a = 1;\nconsole.log(a);\n"), "javascript");
        assert_string_equal(by_looks("#!/bin/sh\necho hi\n"), "shell");
        assert_string_equal(by_looks("ls -la /etc"), "shell");
        assert_string_equal(by_looks("#include <stdio.h>\nint main(void) { }\n"), "c");
        assert_string_equal(by_looks("package main\nfunc main() { fmt.Println(1) }\n"), "go");
        assert_string_equal(
                by_looks("Traceback (most recent call last):\n  File \"a.py\", line 1\nValueError: x\n"),
                "log");
        assert_string_equal(by_looks("2024-01-02 03:04:05 INFO up\n"), "log");
        assert_string_equal(by_looks("[12:34:56] up\n"), "log");
        assert_string_equal(by_looks("{\"a\": 1}"), "json");
        assert_string_equal(by_looks("diff --git a/x b/x\n"), "diff");
        assert_string_equal(by_looks("Dear Kim, see you at three."), "");
        assert_string_equal(by_looks(""), "");
        (void)state;
}

static void test_lines(void **state)
{
        assert_true(cay_intent_is_code_line("print(1)\n", 9));
        assert_true(cay_intent_is_code_line("for", 3) == false);
        assert_false(cay_intent_is_code_line("from my side all is fine\n", 25));
        assert_true(cay_intent_is_log_line("12:00:01 up", 11));
        assert_false(cay_intent_is_log_line("12 o'clock", 10));
        assert_false(cay_intent_is_log_line("", 0));
        (void)state;
}

/* Only so much is looked at; what is cut in the middle of a mark is no mark. */
static void test_edges(void **state)
{
        static char code[20000];

        memset(code, '\n', sizeof(code));
        memcpy(code + sizeof(code) - 9, "print(1)", 8);
        assert_null(cay_intent_guess_language(code, sizeof(code)));
        assert_null(cay_intent_guess_language("prin", 4));
        assert_null(cay_intent_guess_language("2024-01-0", 9));
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_tags),
                cmocka_unit_test(test_looks),
                cmocka_unit_test(test_lines),
                cmocka_unit_test(test_edges),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
