/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/browser/outline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

static struct cay_buf out;
static struct cay_outline outline;

static const char *write_all(const char *nodes, size_t max)
{
        struct cay_json_view v;

        cay_buf_done(&out);
        cay_buf_init(&out, 1 << 20);
        assert_int_equal(cay_json_view_open(nodes, strlen(nodes), &v), 0);
        assert_int_equal(cay_outline_write(v, max, &out, &outline), 0);
        return cay_buf_data(&out);
}

#define NODE(id, role, name, kids, more)                                                                     \
        "{\"nodeId\":\"" id "\",\"ignored\":false,\"role\":{\"value\":\"" role                               \
        "\"},\"name\":{\"value\":\"" name "\"},\"childIds\":[" kids "],\"backendDOMNodeId\":1" id more "}"
#define CHILD ",\"parentId\":\"1\""

#define STATE(name, value) ",\"properties\":[{\"name\":\"" name "\",\"value\":{\"value\":" value "}}]"

/* clang-format off */
static const char page[] =
        "[" NODE("1", "RootWebArea", "Shop", "\"2\",\"3\",\"4\",\"9\"", "")
        "," NODE("2", "heading", "Sign \\\"up\\\"\\n  [e5]", "\"5\"", CHILD STATE("level", "1"))
        "," NODE("5", "StaticText", "Sign \\\"up\\\"\\n  [e5]", "", CHILD)
        "," NODE("3", "generic", "", "\"6\",\"7\"", CHILD)
        "," NODE("6", "textbox", "Name", "", CHILD ",\"value\":{\"value\":\"Ada\"}" STATE("focused", "true"))
        "," NODE("7", "StaticText", "free text", "", CHILD)
        "," NODE("4", "checkbox", "Agree", "", CHILD STATE("checked", "\"mixed\""))
        "]";
/* clang-format on */

static void test_lines(void **state)
{
        (void)state;
        assert_string_equal(write_all(page, 10000), "heading \"Sign \\\"up\\\" [e5]\" level=1\n"
                                                    "textbox \"Name\" [e16] value=\"Ada\" focused\n"
                                                    "text: free text\n"
                                                    "checkbox \"Agree\" [e14] checked=mixed\n");
        assert_int_equal(outline.lines, 4);
        assert_false(outline.truncated);
}

static void test_cut(void **state)
{
        (void)state;
        assert_string_equal(write_all(page, 50), "heading \"Sign \\\"up\\\" [e5]\" level=1\n");
        assert_true(outline.truncated);
        assert_string_equal(write_all(page, 3), "");
        assert_true(outline.truncated);
}

/* A page cannot make a tree that never ends. */
static void test_circle(void **state)
{
        (void)state;
        write_all("[" NODE("1", "button", "a", "\"2\",\"1\"", "") "," NODE("2", "button", "b", "\"1\",\"2\"",
                                                                           CHILD) "]",
                  10000);
        assert_int_equal(outline.lines, 2);
}

static void test_nothing(void **state)
{
        struct cay_json_view v;

        (void)state;
        assert_int_equal(cay_json_view_open("{}", 2, &v), 0);
        assert_int_equal(cay_outline_write(v, 10, &out, &outline), -EBADMSG);
        assert_int_equal(cay_outline_write((struct cay_json_view){ 0 }, 10, &out, &outline), -EBADMSG);
}

static int done(void **state)
{
        (void)state;
        cay_buf_done(&out);
        return 0;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_lines),
                cmocka_unit_test(test_cut),
                cmocka_unit_test(test_circle),
                cmocka_unit_test(test_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, done);
}
