/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/browser/outline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static struct cay_buf out;
static struct cay_outline outline;
static struct cay_outline_options options;

static const char *write_all(const char *nodes, size_t max)
{
        struct cay_json_view v;

        cay_buf_done(&out);
        cay_buf_init(&out, 1 << 20);
        assert_int_equal(cay_json_view_open(nodes, strlen(nodes), &v), 0);
        assert_int_equal(cay_outline_write(v, &options, max, &out, &outline), 0);
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

#define SAME 3000u
#define SAID 400000u

/*
 * Ids that are looked for in the same place, named again and again: it takes no time to speak of, and the
 * answer says that it is not whole.
 */
static void test_made_up(void **state)
{
        cay_auto_buf struct cay_buf text = { 0 };
        char id[24] = "", first[24] = "";
        struct cay_json_view v;
        unsigned found = 0;

        (void)state;
        cay_buf_init(&text, 64u << 20);
        cay_buf_puts(&text, "[");
        for (unsigned n = 0; found < SAME; n++) {
                unsigned h = 5381;

                snprintf(id, sizeof(id), "%u", n);
                for (const char *c = id; *c; c++)
                        h = h * 33 + (unsigned char)*c;
                if (h % 4099 != 7)
                        continue;
                if (found++ == 0)
                        memcpy(first, id, sizeof(id));
                cay_buf_printf(&text,
                               "{\"nodeId\":\"%s\",\"parentId\":\"x\",\"role\":{\"value\":\"button\"},"
                               "\"name\":{\"value\":\"b\"}},",
                               id);
        }
        cay_buf_puts(&text, "{\"nodeId\":\"root\",\"role\":{\"value\":\"RootWebArea\"},\"childIds\":[");
        for (unsigned i = 0; i < SAID; i++)
                cay_buf_printf(&text, "%s\"%s\"", i > 0 ? "," : "", first);
        assert_int_equal(cay_buf_puts(&text, "]}]"), 0);
        cay_buf_done(&out);
        cay_buf_init(&out, 1 << 20);
        assert_int_equal(cay_json_view_open(cay_buf_data(&text), text.len, &v), 0);
        assert_int_equal(cay_outline_write(v, &options, 10000, &out, &outline), 0);
        assert_true(outline.truncated);
        assert_int_equal(outline.lines, 1);
}

/*
 * Where documents of frames belong, and references of a frame that numbers by itself. What was cut off has no
 * place.
 */
static void test_holes(void **state)
{
        struct cay_outline_hole holes[] = { { .owner = 16 }, { .owner = 14 }, { .owner = 99 } };
        const char *text;

        (void)state;
        options = (struct cay_outline_options){ .frame = 3, .holes = holes, .hole_count = CAY_COUNT(holes) };
        text = write_all(page, 10000);
        assert_non_null(strstr(text, "textbox \"Name\" [f3e16] value=\"Ada\" focused\n"));
        assert_true(holes[0].is_found && holes[1].is_found && !holes[2].is_found);
        assert_int_equal(holes[0].at, strstr(text, "text: free") - text);
        assert_int_equal(holes[0].depth, 1);
        assert_int_equal(holes[1].at, strlen(text));
        holes[0].is_found = holes[1].is_found = false;
        write_all(page, 50);
        assert_true(!holes[0].is_found && !holes[1].is_found);
        options = (struct cay_outline_options){ 0 };
}

static void test_nothing(void **state)
{
        struct cay_json_view v;

        (void)state;
        assert_int_equal(cay_json_view_open("{}", 2, &v), 0);
        assert_int_equal(cay_outline_write(v, &options, 10, &out, &outline), -EBADMSG);
        assert_int_equal(cay_outline_write((struct cay_json_view){ 0 }, &options, 10, &out, &outline),
                         -EBADMSG);
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
                cmocka_unit_test(test_lines),   cmocka_unit_test(test_cut),   cmocka_unit_test(test_circle),
                cmocka_unit_test(test_made_up), cmocka_unit_test(test_holes), cmocka_unit_test(test_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, done);
}
