/* SPDX-License-Identifier: Apache-2.0 */
/* JUnit XML, as pytest, Maven, Jest and others write it; and what strangers may write instead. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "cases.h"

static const char pytest[] =
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n"
        "<!-- a comment with <testcase name=\"no\"/> -- and so -->\n"
        "<testsuites name='all'><testsuite name=\"pytest\" errors=\"1\" failures=\"1\" tests=\"5\" "
        "time=\"0.05\">"
        "<properties><property name=\"a\" value=\"b\"/></properties>"
        "<testcase classname=\"t.A\" name=\"test_ok\" time=\"0.001\" />"
        "<testcase classname=\"t.A\" name=\"test_&lt;x&gt; &#65;&#x42; &unknown; &\" time=\"1,234.5\">"
        "<failure message=\"assert 1 == 2&#10;more\">def f():\n&gt; assert <![CDATA[a < b ]] ]]>end</failure>"
        "<system-out>ok 1 - not TAP</system-out></testcase>"
        "<testcase name='test_err'><error message='boom'/></testcase>"
        "<testcase name='test_skip'><skipped message='not here'>why</skipped></testcase>"
        "<testsuite name='inner'><testcase "
        "name='deep'><failure>first</failure><error>second</error></testcase></testsuite>"
        "<testcase name='after'/></testsuite></testsuites>\n";

static const char pytest_cases[] = "pytest|t.A|test_ok|passed|||1000\n"
                                   "pytest|t.A|test_<x> AB &unknown; &|failed|assert 1 == 2\nmore|def f():\n"
                                   "> assert a < b ]] end|1234500000\n"
                                   "pytest||test_err|error|boom||-1\n"
                                   "pytest||test_skip|skipped|not here|why|-1\n"
                                   "inner||deep|failed||first|-1\n"
                                   "pytest||after|passed|||-1\n";

static void test_pieces_of_any_size(void **state)
{
        static struct told t;
        struct cay_error err;

        for (size_t piece = 1; piece < sizeof(pytest); piece += piece < 40 ? 1 : 97) {
                assert_int_equal(read_cases(pytest, sizeof(pytest) - 1, piece, &t, &err), 0);
                assert_string_equal(t.text, pytest_cases);
        }
        (void)state;
}

/* A test program that was killed: what was told stays. */
static void test_half_a_file(void **state)
{
        static struct told t;
        struct cay_error err;
        const char *half = strstr(pytest, "<system-out>");

        assert_int_equal(read_cases(pytest, (size_t)(half - pytest), 7, &t, &err), -1);
        assert_string_equal(t.text, "pytest|t.A|test_ok|passed|||1000\n");
        assert_non_null(strstr(err.msg, "middle"));
        (void)state;
}

static void test_long_texts_are_cut(void **state)
{
        static struct told t;
        struct cay_error err;
        static char text[20000];
        size_t len =
                (size_t)snprintf(text, sizeof(text), "<testsuite><testcase name='a'><failure message='m'>");

        memset(text + len, 'x', 10000);
        len += 10000;
        len += (size_t)snprintf(text + len, sizeof(text) - len, "</failure></testcase></testsuite>");
        assert_int_equal(read_cases(text, len, 4096, &t, &err), 0);
        assert_non_null(strstr(t.text, "|-1|cut\n"));
        assert_true(t.len < 5000);
        (void)state;
}

static void test_suites_have_a_depth(void **state)
{
        static struct told t;
        struct cay_error err;
        char text[1024] = "";
        size_t len = 0;

        for (unsigned i = 0; i <= CAY_TEST_SUITES_MAX; i++)
                len += (size_t)snprintf(text + len, sizeof(text) - len, "<testsuite name='s'>");
        snprintf(text + len, sizeof(text) - len, "<testcase name='a'/>");
        assert_int_equal(read_cases(text, strlen(text), 5, &t, &err), -1);
        assert_non_null(strstr(err.msg, "deeper"));
        (void)state;
}

static void test_nothing_in_it(void **state)
{
        static struct told t;
        struct cay_error err;

        assert_int_equal(read_cases("", 0, 1, &t, &err), -1);
        assert_int_equal(read_cases(" \n\xef\xbb\xbf ", 6, 1, &t, &err), -1);
        assert_int_equal(read_cases("<html></html>", 13, 3, &t, &err), 0);
        assert_string_equal(t.text, "");
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_pieces_of_any_size), cmocka_unit_test(test_half_a_file),
                cmocka_unit_test(test_long_texts_are_cut), cmocka_unit_test(test_suites_have_a_depth),
                cmocka_unit_test(test_nothing_in_it),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
