/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer: commas, escapes, broken text, misuse, a full buffer. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "foundation/base/json_out.h"
#include "foundation/base/utf8.h"

static void test_shapes(void **state)
{
        cay_auto_buf struct cay_buf b;
        struct cay_json j;

        cay_buf_init(&b, 1000);
        cay_json_init(&j, &b);
        cay_json_begin_object(&j);
        cay_json_key(&j, "id");
        cay_json_text(&j, "a");
        cay_json_key(&j, "n");
        cay_json_u64(&j, UINT64_MAX);
        cay_json_key(&j, "m");
        cay_json_i64(&j, INT64_MIN);
        cay_json_key(&j, "list");
        cay_json_begin_array(&j);
        cay_json_begin_array(&j);
        cay_json_end_array(&j);
        cay_json_begin_object(&j);
        cay_json_end_object(&j);
        cay_json_bool(&j, true);
        cay_json_bool(&j, false);
        cay_json_null(&j);
        cay_json_text(&j, NULL);
        cay_json_end_array(&j);
        cay_json_key(&j, "last");
        cay_json_begin_object(&j);
        cay_json_key(&j, "x");
        cay_json_i64(&j, -1);
        cay_json_end_object(&j);
        cay_json_end_object(&j);
        assert_int_equal(cay_json_end(&j), 0);
        assert_string_equal(cay_buf_data(&b), "{\"id\":\"a\",\"n\":18446744073709551615,"
                                              "\"m\":-9223372036854775808,"
                                              "\"list\":[[],{},true,false,null,null],\"last\":{\"x\":-1}}");
}

static void expect_json(const char *s, size_t len, const char *json)
{
        cay_auto_buf struct cay_buf b;
        struct cay_json j;

        cay_buf_init(&b, 1000);
        cay_json_init(&j, &b);
        cay_json_string(&j, s, len);
        assert_int_equal(cay_json_end(&j), 0);
        assert_string_equal(cay_buf_data(&b), json);
}

#define EXPECT_JSON(literal, json) expect_json(literal, sizeof(literal) - 1, json)

static void test_strings(void **state)
{
        expect_json(NULL, 0, "\"\"");
        EXPECT_JSON("plain", "\"plain\"");
        EXPECT_JSON("a\"b\\c/", "\"a\\\"b\\\\c/\"");
        EXPECT_JSON("\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\"");
        EXPECT_JSON("\x01\x1f\x7f", "\"\\u0001\\u001f\x7f\"");
        EXPECT_JSON("a\0b", "\"a\\u0000b\"");
        EXPECT_JSON("gr\xc3\xbc\xf0\x9f\x98\x80", "\"gr\xc3\xbc\xf0\x9f\x98\x80\"");
        EXPECT_JSON("\xff", "\"\xef\xbf\xbd\"");
        EXPECT_JSON("a\xc3(", "\"a\xef\xbf\xbd(\"");
        EXPECT_JSON("\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\"");
        EXPECT_JSON("\xed\xa0\x80z", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbdz\"");
        EXPECT_JSON("\xc3\"", "\"\xef\xbf\xbd\\\"\""); /* a half character cannot swallow the quote */
}

static void test_key_is_escaped(void **state)
{
        cay_auto_buf struct cay_buf b;
        struct cay_json j;

        cay_buf_init(&b, 100);
        cay_json_init(&j, &b);
        cay_json_begin_object(&j);
        cay_json_key(&j, "a\"\xff");
        cay_json_null(&j);
        cay_json_end_object(&j);
        assert_int_equal(cay_json_end(&j), 0);
        assert_string_equal(cay_buf_data(&b), "{\"a\\\"\xef\xbf\xbd\":null}");
}

/* A script of calls: { } [ ] k(ey) 0(number); it must be refused and write no more than `left` shows. */
static void play(struct cay_json *j, const char *script)
{
        for (; *script; script++) {
                switch (*script) {
                case '{':
                        cay_json_begin_object(j);
                        break;
                case '}':
                        cay_json_end_object(j);
                        break;
                case '[':
                        cay_json_begin_array(j);
                        break;
                case ']':
                        cay_json_end_array(j);
                        break;
                case 'k':
                        cay_json_key(j, "k");
                        break;
                default:
                        cay_json_u64(j, 0);
                        break;
                }
        }
}

static void test_misuse(void **state)
{
        static const char *const rows[][2] = {
                { "", "" },
                { "}", "" },
                { "]", "" },
                { "k", "" },
                { "00", "0" },
                { "{}{}", "{}" },
                { "[", "[" },
                { "{]", "{" },
                { "[}", "[" },
                { "{0", "{" },
                { "{k}", "{\"k\":" },
                { "{kk0}", "{\"k\":" },
                { "{k00}", "{\"k\":0" },
                { "[k0]", "[" },
                { "[0]]", "[0]" },
                { "{k0", "{\"k\":0" },
        };

        for (size_t i = 0; i < CAY_COUNT(rows); i++) {
                cay_auto_buf struct cay_buf b;
                struct cay_json j;

                cay_buf_init(&b, 1000);
                cay_json_init(&j, &b);
                play(&j, rows[i][0]);
                assert_int_equal(cay_json_end(&j), -EINVAL);
                assert_string_equal(cay_buf_data(&b), rows[i][1]);
        }
}

static void test_depth(void **state)
{
        cay_auto_buf struct cay_buf b;
        struct cay_json j;

        cay_buf_init(&b, 1000);
        cay_json_init(&j, &b);
        for (int i = 0; i < CAY_JSON_DEPTH_MAX; i++)
                play(&j, i % 2 ? "[" : "{k");
        for (int i = CAY_JSON_DEPTH_MAX - 1; i >= 0; i--)
                play(&j, i % 2 ? "]" : "k0}");
        assert_int_equal(cay_json_end(&j), 0);
        assert_memory_equal(cay_buf_data(&b), "{\"k\":[{\"k\":[", 12);

        cay_buf_clear(&b);
        cay_json_init(&j, &b);
        for (int i = 0; i <= CAY_JSON_DEPTH_MAX; i++)
                play(&j, "[");
        assert_int_equal(cay_json_end(&j), -E2BIG);
}

static void test_full_buffer_at_every_size(void **state)
{
        static const char whole[] = "{\"k\":[\"\xc3\xbc\\n\xef\xbf\xbd\",12]}";

        for (size_t max = 0; max < sizeof(whole) + 2; max++) {
                cay_auto_buf struct cay_buf b;
                struct cay_json j;

                cay_buf_init(&b, max);
                cay_json_init(&j, &b);
                play(&j, "{k[");
                cay_json_text(&j, "\xc3\xbc\n\xff");
                cay_json_u64(&j, 12);
                play(&j, "]}");
                assert_int_equal(cay_json_end(&j), max < sizeof(whole) - 1 ? -ENOSPC : 0);
                assert_true(cay_utf8_valid(cay_buf_data(&b), b.len));
                assert_memory_equal(cay_buf_data(&b), whole, b.len);
        }
}

/* Texts are looked at by eights: whatever stands at any place of one is seen. */
static void test_every_place(void **state)
{
        static const struct {
                const char *raw, *out;
        } rows[] = { { "\"", "\\\"" },
                     { "\\", "\\\\" },
                     { "\n", "\\n" },
                     { "\x1f", "\\u001f" },
                     { "\x01", "\\u0001" },
                     { "\x7f", "\x7f" },
                     { "\xc3\xa4", "\xc3\xa4" },
                     { "\xff", "\xef\xbf\xbd" },
                     { " ", " " },
                     { "!", "!" },
                     { "#", "#" },
                     { "]", "]" } };
        static const char around[] = "abcdefghijklmnopqrstuvwxyz";

        for (size_t i = 0; i < CAY_COUNT(rows); i++) {
                for (size_t before = 0; before < 18; before++) {
                        cay_auto_buf struct cay_buf b;
                        char raw[64], wanted[64];
                        struct cay_json j;

                        snprintf(raw, sizeof(raw), "%.*s%s%.9s", (int)before, around, rows[i].raw, around);
                        snprintf(wanted, sizeof(wanted), "\"%.*s%s%.9s\"", (int)before, around, rows[i].out,
                                 around);
                        cay_buf_init(&b, 128);
                        cay_json_init(&j, &b);
                        cay_json_text(&j, raw);
                        assert_int_equal(cay_json_end(&j), 0);
                        assert_string_equal(cay_buf_data(&b), wanted);
                }
        }
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_every_place),
                cmocka_unit_test(test_shapes),
                cmocka_unit_test(test_strings),
                cmocka_unit_test(test_key_is_escaped),
                cmocka_unit_test(test_misuse),
                cmocka_unit_test(test_depth),
                cmocka_unit_test(test_full_buffer_at_every_size),
        };

        return cmocka_run_group_tests_name("base/json_out", tests, NULL, NULL);
}
