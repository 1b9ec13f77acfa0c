/* SPDX-License-Identifier: Apache-2.0 */
/* .dockerignore: what is left out, and what comes back in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "cay-docker/build_ignore.h"

static void test_patterns(void **state)
{
        static const struct {
                const char *pattern, *path;
                bool fits;
        } rows[] = {
                { "a", "a", true },
                { "a", "b", false },
                { "a", "a/b", false },
                { "*.c", "x.c", true },
                { "*.c", "d/x.c", false },
                { "**/*.c", "x.c", true },
                { "**/*.c", "d/e/x.c", true },
                { "d/**", "d/e/x", true },
                { "d/**", "e/x", false },
                { "d/**/x", "d/x", true },
                { "d/**/x", "d/a/b/x", true },
                { "d/**/x", "d/a/b/y", false },
                { "?", "a", true },
                { "?", "ab", false },
                { "[a-c]x", "bx", true },
                { "[^a-c]x", "bx", false },
                { "[!a-c]x", "dx", true },
                { "[x", "[x", true },
                { "\\*", "*", true },
                { "\\*", "a", false },
                { "a*b*c", "aXbXbc", true },
                { "a*b*c", "aXbXb", false },
                { "*", "a", true },
                { "*", "a/b", false },
                { "**", "a/b/c", true },
                { "*/b", "a/b", true },
                { "[]]", "]", true },
        };

        (void)state;
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
                if (docker_ignore_fits(rows[i].pattern, rows[i].path, strlen(rows[i].path)) != rows[i].fits)
                        fail_msg("'%s' and '%s'", rows[i].pattern, rows[i].path);
}

static void test_file(void **state)
{
        static const char text[] =
                "# all of it but one\r\n\n  /node_modules/ \n*.log\n!keep.log\n./tmp/*\n!tmp/a\n!\n.\n";
        struct docker_ignore ig;
        struct cay_error err = { 0 };

        (void)state;
        assert_int_equal(docker_ignore_parse(&ig, text, sizeof(text) - 1, &err), 0);
        assert_int_equal(ig.count, 5);
        assert_true(ig.has_exceptions);
        assert_true(docker_ignore_has(&ig, "node_modules"));
        assert_true(docker_ignore_has(&ig, "node_modules/x/y"));
        assert_false(docker_ignore_has(&ig, "src/node_modules"));
        assert_true(docker_ignore_has(&ig, "a.log"));
        assert_false(docker_ignore_has(&ig, "keep.log"));
        assert_true(docker_ignore_has(&ig, "tmp/b"));
        assert_false(docker_ignore_has(&ig, "tmp/a"));
        assert_false(docker_ignore_has(&ig, "# all of it but one"));
        docker_ignore_done(&ig);
        docker_ignore_done(&ig);
}

/* Stars would cost exponential time in a matcher that tries everything. */
static void test_time(void **state)
{
        char pattern[2001], path[2002];

        (void)state;
        for (unsigned i = 0; i < 1000; i++)
                memcpy(pattern + 2 * i, "*a", 2);
        pattern[2000] = '\0';
        memset(path, 'a', 2000);
        path[2000] = 'b';
        path[2001] = '\0';
        assert_false(docker_ignore_fits(pattern, path, 2001));
        for (unsigned i = 0; i < 666; i++)
                memcpy(pattern + 3 * i, "**/", 3);
        pattern[3 * 666] = 'x';
        pattern[3 * 666 + 1] = '\0';
        for (unsigned i = 0; i < 1000; i++)
                memcpy(path + 2 * i, "a/", 2);
        assert_false(docker_ignore_fits(pattern, path, 1999));
}

static void test_too_much(void **state)
{
        static char text[DOCKER_IGNORE_MAX + 1];
        struct docker_ignore ig;
        struct cay_error err = { 0 };

        (void)state;
        memset(text, '\n', sizeof(text));
        assert_int_equal(docker_ignore_parse(&ig, text, sizeof(text), &err), -1);
        for (unsigned i = 0; i < 2 * (DOCKER_IGNORE_PATTERNS + 1); i += 2)
                text[i] = 'a';
        err = (struct cay_error){ 0 };
        assert_int_equal(docker_ignore_parse(&ig, text, sizeof(text) - 1, &err), -1);
        assert_int_equal(err.code, CAY_INVALID);
        assert_int_equal(docker_ignore_parse(&ig, "a\0b", 3, &err), -1);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_patterns), cmocka_unit_test(test_file),
                                            cmocka_unit_test(test_time), cmocka_unit_test(test_too_much) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
