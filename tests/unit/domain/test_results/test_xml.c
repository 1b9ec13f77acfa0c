/* SPDX-License-Identifier: Apache-2.0 */
/* What is refused, and that nothing is expanded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "domain/test_results/xml.h"

static char seen[4096];

static void add(const char *text, size_t len)
{
        snprintf(seen + strlen(seen), sizeof(seen) - strlen(seen), "%.*s", (int)len, text);
}

static void on_open(void *ctx, const char *name)
{
        (void)ctx;
        add("<", 1);
        add(name, strlen(name));
}

static void on_attribute(void *ctx, const char *name, const char *value, bool is_cut)
{
        (void)ctx;
        add("@", 1);
        add(name, strlen(name));
        add("=", 1);
        add(value, is_cut ? 3 : strlen(value));
}

static void on_text(void *ctx, const char *bytes, size_t len)
{
        (void)ctx;
        add(bytes, len);
}

static void on_close(void *ctx)
{
        (void)ctx;
        add(">", 1);
}

static const struct cay_xml_events events = { on_open, on_attribute, on_text, on_close };

static int read_all(const char *text)
{
        static struct cay_xml x;
        struct cay_error err = { 0 };

        seen[0] = '\0';
        cay_xml_init(&x, &events, NULL);
        if (cay_xml_feed(&x, text, strlen(text), &err) < 0 || cay_xml_end(&x, &err) < 0) {
                assert_int_equal(err.code, CAY_INVALID);
                return -1;
        }
        return 0;
}

static void test_reads(void **state)
{
        assert_int_equal(
                read_all("<?xml version='1.0'?><a x = 'y' z=\"&apos;\">t<b/>&amp;<!-- - -- c --->u</a >\n"),
                0);
        assert_string_equal(seen, "<a@x=y@z='t<b>&u>");
        assert_int_equal(read_all("<a><![CDATA[<x>]]]]><![CDATA[>]]>&#0;&#xD800;&#1114112;</a>"), 0);
        assert_string_equal(seen, "<a<x>]]>\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd>");
        (void)state;
}

static void test_refuses(void **state)
{
        static const char *const bad[] = {
                "",
                "text",
                "<a>",
                "<a></b>",
                "</a>",
                "<a/><b/>",
                "<a",
                "<a x>",
                "<a x=y/>",
                "<a x='<'/>",
                "<a / >",
                "< a/>",
                "<a><!-- ",
                "<a><![CDATA[</a>",
                "<a><![cdata[x]]></a>",
                "<?xml",
                "<a x='1' =/>",
                "<!DOCTYPE a [<!ENTITY b \"bbbb\">]><a>&b;</a>",
                "<!ELEMENT a><a/>",
        };

        for (unsigned i = 0; i < CAY_COUNT(bad); i++)
                if (read_all(bad[i]) == 0)
                        fail_msg("accepted: %s", bad[i]);
        (void)state;
}

static void test_depth_and_length(void **state)
{
        char text[CAY_XML_DEPTH_MAX * 3 + 16] = "", value[3000] = "<a x='";

        for (unsigned i = 0; i <= CAY_XML_DEPTH_MAX; i++)
                memcpy(text + (size_t)i * 3, "<a>", 3);
        assert_int_equal(read_all(text), -1);
        memset(value + 6, 'v', 2000);
        memcpy(value + 2006, "'/>", 3);
        assert_int_equal(read_all(value), 0);
        assert_string_equal(seen, "<a@x=vvv>"); /* told that it was cut */
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_reads),
                cmocka_unit_test(test_refuses),
                cmocka_unit_test(test_depth_and_length),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
