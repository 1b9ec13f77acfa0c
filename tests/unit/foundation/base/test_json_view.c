/* SPDX-License-Identifier: Apache-2.0 */
/* JSON looked at in place: what is refused, what is found, what a string says. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "foundation/base/json_view.h"

static struct cay_json_view open_text(const char *text)
{
        struct cay_json_view v;

        assert_int_equal(cay_json_view_open(text, strlen(text), &v), 0);
        return v;
}

static void takes_json_alone(void **state)
{
        static const char *const good[] = { "{}",
                                            "[]",
                                            " [1, -0.5e+3, 0, \"\", true, false, null] ",
                                            "\"\\ud83d\\ude00\"",
                                            "{\"a\":{\"b\":[{}]}}",
                                            "0",
                                            "-1.25E-2" };
        static const char *const bad[] = { "",         " ",       "{",           "[1,]",        "{\"a\"}",
                                           "{\"a\":}", "{a:1}",   "[1 2]",       "01",          "1.",
                                           "+1",       ".5",      "1e",          "nul",         "truex",
                                           "\"\x01\"", "\"\\x\"", "\"\\u12g4\"", "\"\\ud800\"", "\"\\udc00\"",
                                           "\"\xff\"", "\"abc",   "[1]]",        "{\"a\":1,}",  "\"\\",
                                           "\"\\u" };
        struct cay_json_view v;

        for (unsigned i = 0; i < CAY_COUNT(good); i++)
                assert_int_equal(cay_json_view_open(good[i], strlen(good[i]), &v), 0);
        for (unsigned i = 0; i < CAY_COUNT(bad); i++)
                if (cay_json_view_open(bad[i], strlen(bad[i]), &v) != -EBADMSG)
                        fail_msg("taken: %s", bad[i]);
        assert_int_equal(cay_json_view_open("\"a\0b\"", 5, &v), -EBADMSG);
}

static void depth_is_bounded(void **state)
{
        char text[2 * CAY_JSON_VIEW_DEPTH + 8];
        struct cay_json_view v;
        unsigned n = CAY_JSON_VIEW_DEPTH;

        memset(text, '[', n);
        memset(text + n, ']', n);
        assert_int_equal(cay_json_view_open(text, 2 * n, &v), 0);
        memset(text, '[', n + 1);
        memset(text + n + 1, ']', n + 1);
        assert_int_equal(cay_json_view_open(text, 2 * n + 2, &v), -E2BIG);
}

static void finds_members(void **state)
{
        struct cay_json_view v =
                open_text(" { \"a\" : 1 , \"b\":{\"c\":[true,\"x]}\\\"\"],\"d\":null}, \"e\":\"t\" } ");
        char text[8];
        uint64_t n = 0;

        assert_true(cay_json_view_u64(cay_json_view_find(v, "a"), &n) && n == 1);
        assert_true(cay_json_view_is_array(cay_json_view_find(v, "b.c")));
        assert_true(cay_json_view_is_null(cay_json_view_find(v, "b.d")));
        assert_true(cay_json_view_is_null(cay_json_view_find(v, "b.x")));
        assert_true(cay_json_view_is_null(cay_json_view_find(v, "a.b.c")));
        assert_true(cay_json_view_is_null(cay_json_view_find(v, "")));
        assert_string_equal(cay_json_view_copy(cay_json_view_find(v, "e"), text, sizeof(text)), "t");
        assert_string_equal(cay_json_view_copy(cay_json_view_find(v, "a"), text, sizeof(text)), "");
        assert_false(cay_json_view_u64(cay_json_view_find(v, "e"), &n));
}

static void walks(void **state)
{
        struct cay_json_walk w = cay_json_view_walk(open_text("[1,[2,{\"x\":3}], \"a,b]\" ,{} ,null]"));
        struct cay_json_view key, item;
        unsigned count = 0;

        while (cay_json_view_next(&w, NULL, &item))
                count++;
        assert_int_equal(count, 5);
        w = cay_json_view_walk(open_text("{\"k\\\"\":1,\"l\":[]}"));
        assert_true(cay_json_view_next(&w, &key, &item) && key.len == 5 && item.len == 1);
        assert_true(cay_json_view_next(&w, &key, &item) && key.len == 3 && item.len == 2);
        assert_false(cay_json_view_next(&w, &key, &item));
        w = cay_json_view_walk(open_text("3"));
        assert_false(cay_json_view_next(&w, &key, &item));
        w = cay_json_view_walk((struct cay_json_view){ 0 });
        assert_false(cay_json_view_next(&w, &key, &item));
}

static void decodes(void **state)
{
        static const struct {
                const char *json, *text;
                size_t len;
        } rows[] = {
                { "\"\\r\\n\"", "\r\n", 2 },
                { "\"a\\u0000b\"", "a\0b", 3 },
                { "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8 },
                { "\"\\u00e9\\u20ac\\ud83d\\ude00 \xc3\xa9\"",
                  "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 \xc3\xa9", 12 },
                { "\"\"", "", 0 },
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                cay_auto_buf struct cay_buf out = { 0 };

                cay_buf_init(&out, 64);
                assert_int_equal(cay_json_view_text(open_text(rows[i].json), &out), 0);
                assert_int_equal(out.len, rows[i].len);
                assert_memory_equal(cay_buf_data(&out), rows[i].text, rows[i].len);
        }
}

static void copies_are_cut_between_characters(void **state)
{
        char text[4];

        assert_string_equal(cay_json_view_copy(open_text("\"ab\xe2\x82\xac\""), text, sizeof(text)), "ab");
        assert_string_equal(cay_json_view_copy(open_text("\"abcdef\""), text, sizeof(text)), "abc");
}

static void numbers(void **state)
{
        uint64_t n = 0;

        assert_true(cay_json_view_u64(open_text("18446744073709551615"), &n) && n == UINT64_MAX);
        assert_false(cay_json_view_u64(open_text("18446744073709551616"), &n));
        assert_false(cay_json_view_u64(open_text("-1"), &n));
        assert_false(cay_json_view_u64(open_text("1.5"), &n));
        assert_true(cay_json_view_is_true(open_text("true")) && !cay_json_view_is_true(open_text("false")));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(takes_json_alone), cmocka_unit_test(depth_is_bounded),
                cmocka_unit_test(finds_members),    cmocka_unit_test(walks),
                cmocka_unit_test(decodes),          cmocka_unit_test(copies_are_cut_between_characters),
                cmocka_unit_test(numbers),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
