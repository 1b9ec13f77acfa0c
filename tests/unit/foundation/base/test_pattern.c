/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns: what matches, what is refused, and that none takes long. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "foundation/base/clock.h"
#include "foundation/base/pattern.h"

static struct cay_pattern p;
static struct cay_pattern_run run;

static bool find(const char *pattern, const char *text, unsigned flags)
{
        struct cay_error err = { 0 };
        size_t end = 0;

        if (cay_pattern_compile(&p, pattern, strlen(pattern), flags, &err) < 0)
                fail_msg("'%s': %s", pattern, err.msg);
        return cay_pattern_find(&p, &run, text, strlen(text), true, true, &end);
}

static void test_matches(void **state)
{
        static const struct {
                const char *pattern, *yes, *no;
        } rows[] = {
                { "abc", "xxabcxx", "ab c" },
                { "^abc$", "abc", "xabc" },
                { "a.c", "aéc", "ac" },
                { "^..$", "é1", "é" },
                { "a*b", "b", "a" },
                { "a+b", "xaab", "b" },
                { "colou?r", "color", "colouur" },
                { "^a{2,3}$", "aaa", "aaaa" },
                { "^a{2}$", "aa", "a" },
                { "^(ab){2,}$", "ababab", "ab" },
                { "a{,3}", "a{,3}", "aaa" },
                { "x{", "x{", "x" },
                { "^(foo|bar|)$", "", "baz" },
                { "^(a|b|c|d)+$", "abcd", "abce" },
                { "^[a-c_]+$", "ab_c", "abd" },
                { "^[^a-c]$", "é", "b" },
                { "^[]x]$", "]", "y" },
                { "^[a-]$", "-", "b" },
                { "[[:digit:]]{3}", "a123", "12" },
                { "\\d+", "a1", "abc" },
                { "^\\D$", "é", "1" },
                { "^\\w+\\s=\\s\\S+$", "a_1 = é!", "a = b c" },
                { "\\bfoo\\b", "a foo.", "afoo" },
                { "\\Bfoo", "afoo", "foo" },
                { "def \\w+\\(", "def main(x):", "def main" },
                { "\\.", ".", "a" },
                { "\\x41", "A", "a" },
                { "(?i)Hello", "hELLO", "helo" },
                { "a.*?b", "axxb", "axx" },
                { "(a*)*b", "aaab", "aaa" },
                { "(a|a)*$", "aaa", NULL },
                { "(?:é|è)+x", "éèx", "x" },
                { "é*x", "ééx", NULL },
                { "^é{2}$", "éé", "é" },
                { "$", "", NULL },
                { "^$", "", "a" },
                { "a|b|^$", "b", "c" },
        };

        (void)state;
        for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                if (!find(rows[i].pattern, rows[i].yes, 0))
                        fail_msg("'%s' does not match '%s'", rows[i].pattern, rows[i].yes);
                if (rows[i].no && find(rows[i].pattern, rows[i].no, 0))
                        fail_msg("'%s' matches '%s'", rows[i].pattern, rows[i].no);
        }
        assert_true(find("a.(b", "xa.(bx", CAY_PATTERN_LITERAL));
        assert_false(find("a.(b", "xab(bx", CAY_PATTERN_LITERAL));
        assert_true(find("ABC[x-z]", "abcY", CAY_PATTERN_NO_CASE));
        assert_true(find("AB.", "ab.", CAY_PATTERN_NO_CASE | CAY_PATTERN_LITERAL));
}

static void test_refused(void **state)
{
        static const struct {
                const char *pattern, *why;
        } rows[] = {
                { "", "1 to 1000" },      { "(a", "no )" },           { "a)", "no group" },
                { "[a", "no ]" },         { "*a", "nothing before" }, { "a\\", "nothing behind" },
                { "(a)\\1", "\\1" },      { "(?=a)", "(?" },          { "(?<n>a)", "(?" },
                { "[z-a]", "backwards" }, { "a{3,2}", "smaller" },    { "((a{1000}){1000})", "too large" },
                { "\\q", "not known" },   { "[é]", "ASCII" },         { "a\nb", "one line" },
                { "a{1001}", "1000" },
        };
        char deep[200];

        (void)state;
        for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                struct cay_error err = { 0 };

                if (cay_pattern_compile(&p, rows[i].pattern, strlen(rows[i].pattern), 0, &err) == 0)
                        fail_msg("'%s' is taken", rows[i].pattern);
                assert_int_equal(err.code, CAY_INVALID);
                if (!strstr(err.msg, rows[i].why))
                        fail_msg("'%s': %s", rows[i].pattern, err.msg);
        }
        memset(deep, '(', sizeof(deep));
        struct cay_error err = { 0 };
        assert_int_equal(cay_pattern_compile(&p, deep, sizeof(deep), 0, &err), -1);
}

/* Patterns that take others an age; a megabyte of text is far more than a line of a source file. */
static void test_time(void **state)
{
        static const char *const patterns[] = { "(a*)*b", "(a|aa)+$", "(.*)(.*)(.*)(.*)[0-9]x",
                                                "^(a?){30}a{30}$", "(x+x+)+y" };
        size_t len = 100000;
        char *text = malloc(len);
        uint64_t start = cay_clock_ms();

        (void)state;
        memset(text, 'a', len);
        for (unsigned i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++) {
                struct cay_error err = { 0 };
                size_t end;

                assert_int_equal(cay_pattern_compile(&p, patterns[i], strlen(patterns[i]), 0, &err), 0);
                cay_pattern_find(&p, &run, text, len, true, false, &end);
        }
        assert_true(cay_clock_ms() - start < 60000);
        free(text);
}

/* A piece of a long line has no beginning and no end. */
static void test_pieces(void **state)
{
        struct cay_error err = { 0 };
        size_t end = 0;

        (void)state;
        assert_int_equal(cay_pattern_compile(&p, "^a|b$", 5, 0, &err), 0);
        assert_false(cay_pattern_find(&p, &run, "axb", 3, false, false, &end));
        assert_true(cay_pattern_find(&p, &run, "axb", 3, true, false, &end));
        assert_int_equal(end, 1);
        assert_true(cay_pattern_find(&p, &run, "axb", 3, false, true, &end));
        assert_int_equal(end, 3);
}

static bool glob(const char *pattern, const char *path)
{
        struct cay_error err = { 0 };
        size_t end;

        if (cay_pattern_compile_glob(&p, pattern, strlen(pattern), &err) < 0)
                fail_msg("'%s': %s", pattern, err.msg);
        return cay_pattern_find(&p, &run, path, strlen(path), true, true, &end);
}

static void test_globs(void **state)
{
        static const struct {
                const char *pattern, *yes, *no;
        } rows[] = {
                { "*.py", "a/b/c.py", "a/b/c.pyc" },
                { "*.py", "c.py", "py" },
                { "src/*.c", "src/a.c", "src/x/a.c" },
                { "src/**/*.c", "src/x/y/a.c", "lib/a.c" },
                { "src/**/*.c", "src/a.c", "src/a.h" },
                { "**/test_*", "a/b/test_x", "a/b/xtest_x" },
                { "**", "a/b", NULL },
                { "src/**", "src/a/b", "lib/a" },
                { "*.{ts,tsx}", "a/b.tsx", "a/b.js" },
                { "?.c", "a.c", "ab.c" },
                { "[a-c].c", "b.c", "d.c" },
                { "[!a-c].c", "d.c", "b.c" },
                { "a+b(1).txt", "x/a+b(1).txt", "aab1.txt" },
                { "\\*.c", "*.c", "a.c" },
                { "[x", "[x", "x" },
                { "./*.c", "a.c", "b/a.c" },
                { "é?", "éà", "é" },
                { "*", "a\nb", NULL },
        };

        (void)state;
        for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                if (!glob(rows[i].pattern, rows[i].yes))
                        fail_msg("'%s' does not match '%s'", rows[i].pattern, rows[i].yes);
                if (rows[i].no && glob(rows[i].pattern, rows[i].no))
                        fail_msg("'%s' matches '%s'", rows[i].pattern, rows[i].no);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_matches), cmocka_unit_test(test_refused), cmocka_unit_test(test_time),
                cmocka_unit_test(test_pieces),  cmocka_unit_test(test_globs),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
