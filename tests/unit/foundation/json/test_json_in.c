/* SPDX-License-Identifier: Apache-2.0 */
/* Documents: what is refused before, by and after the library; looking at values; printing them again. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "foundation/json/json_in.h"

static struct cay_json_in *parse(const char *text)
{
        struct cay_json_in *doc = NULL;
        struct cay_error err = { 0 };

        if (cay_json_in_parse(text, strlen(text), NULL, &doc, &err) < 0)
                fail_msg("'%s': %s", text, err.msg);
        return doc;
}

static void refused_bytes(const char *bytes, size_t len, enum cay_code code, const char *part)
{
        struct cay_json_in *doc = NULL;
        struct cay_error err = { 0 };

        assert_int_equal(cay_json_in_parse(bytes, len, NULL, &doc, &err), -1);
        assert_null(doc);
        assert_int_equal(err.code, code);
        if (!strstr(err.msg, part))
                fail_msg("'%s' is not in '%s'", part, err.msg);
}

static void refused(const char *text, const char *part)
{
        refused_bytes(text, strlen(text), CAY_INVALID, part);
}

static void what_is_not_json_is_refused(void **state)
{
        refused("", "not valid JSON");
        refused("{", "line 1");
        refused("{\"a\":1}}", "not valid JSON");
        refused("{\"a\":1} x", "not valid JSON");
        refused("{\"a\":1,\"a\":2}", "duplicate");
        refused("{'a':1}", "not valid JSON");
        refused("{\"a\":NaN}", "not valid JSON");
        refused("{\"a\":1e999999999}", "not valid JSON");
        refused("{\"a\":99999999999999999999}", "not valid JSON");
        refused("{\"a\":18446744073709551615}", "not valid JSON");
        refused("{\"a\":\"\\u0000\"}", "not valid JSON");
        refused("{\"a\":\"\\ud800\"}", "not valid JSON");
        refused("{\"a\":\"\xff\"}", "not valid JSON");
        refused("{\"a\":\"\xed\xa0\x80\"}", "not valid JSON");
        refused("{\"a\":\"\n\"}", "not valid JSON");
        refused("{/**/\"a\":1}", "not valid JSON");
        refused("1", "not valid JSON");
        refused("\"a\"", "not valid JSON");
        refused("null", "not valid JSON");
        refused_bytes("{\"a\":1}\0", 8, CAY_INVALID, "not valid JSON");
        refused_bytes("{\"a\0b\":1}", 9, CAY_INVALID, "not valid JSON");
}

/* What a stranger sent does not come back in the message. */
static void the_message_does_not_quote_the_input(void **state)
{
        struct cay_json_in *doc = NULL;
        struct cay_error err = { 0 };
        const char text[] = "{\"a\": hunter2}";

        assert_int_equal(cay_json_in_parse(text, strlen(text), NULL, &doc, &err), -1);
        assert_null(strstr(err.msg, "hunter2"));
}

static void depth_is_bounded_without_recursion(void **state)
{
        enum { DEEP = 100000 };
        char *deep = malloc(2 * DEEP), at_limit[2 * 32 + 1], over[2 * 33 + 1];
        struct cay_json_in *doc;

        memset(deep, '[', DEEP);
        memset(deep + DEEP, ']', DEEP);
        refused_bytes(deep, 2 * DEEP, CAY_LIMIT, "at most 32 levels");
        free(deep);
        memset(at_limit, '[', 32);
        memset(at_limit + 32, ']', 32);
        at_limit[64] = '\0';
        doc = parse(at_limit);
        cay_json_in_free(doc);
        memset(over, '[', 33);
        memset(over + 33, ']', 33);
        refused_bytes(over, 66, CAY_LIMIT, "levels");
        /* Brackets in texts are no levels. */
        cay_json_in_free(parse("[\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[ \\\" [[[[[[\\\\\"]"));
}

static void bytes_and_values_are_bounded(void **state)
{
        const struct cay_json_in_limits small = { .bytes = 10, .values = 3 };
        struct cay_json_in *doc = NULL;
        struct cay_error err = { 0 };

        assert_int_equal(cay_json_in_parse("[1,2      ]", 11, &small, &doc, &err), -1);
        assert_int_equal(err.code, CAY_LIMIT);
        assert_int_equal(cay_json_in_parse("[1,2,3]", 7, &small, &doc, &err), -1);
        assert_int_equal(err.code, CAY_LIMIT);
        assert_non_null(strstr(err.msg, "too many values"));
        assert_int_equal(cay_json_in_parse("[1,2]", 5, &small, &doc, &err), 0);
        cay_json_in_free(doc);
}

static void values_can_be_looked_at(void **state)
{
        struct cay_json_in *doc = parse(
                "{\"n\":null,\"b\":true,\"i\":-7,\"r\":0.5,\"t\":\"x\",\"a\":[1,2],\"o\":{\"k\":\"v\"}}");
        const struct cay_json_value *root = cay_json_in_root(doc), *v;
        int64_t i = 0;

        assert_int_equal(cay_json_value_type(root), CAY_JSON_OBJECT);
        assert_int_equal(cay_json_value_count(root), 7);
        assert_int_equal(cay_json_value_type(cay_json_value_find(root, "n")), CAY_JSON_NULL);
        assert_true(cay_json_value_is_true(cay_json_value_find(root, "b")));
        assert_true(cay_json_value_i64(cay_json_value_find(root, "i"), &i));
        assert_int_equal(i, -7);
        assert_false(cay_json_value_i64(cay_json_value_find(root, "r"), &i));
        assert_int_equal(cay_json_value_type(cay_json_value_find(root, "r")), CAY_JSON_REAL);
        assert_string_equal(cay_json_value_text(cay_json_value_find(root, "t")), "x");
        assert_null(cay_json_value_text(cay_json_value_find(root, "i")));
        v = cay_json_value_find(root, "a");
        assert_int_equal(cay_json_value_count(v), 2);
        assert_non_null(cay_json_value_at(v, 1));
        assert_null(cay_json_value_at(v, 2));
        assert_null(cay_json_value_at(root, 0));
        assert_null(cay_json_value_find(v, "x"));
        assert_null(cay_json_value_find(root, "absent"));
        assert_null(cay_json_value_find(NULL, "x"));
        assert_int_equal(cay_json_value_count(NULL), 0);
        assert_false(cay_json_value_is_true(NULL));
        cay_json_in_free(doc);
}

static bool gather(void *ctx, const char *name, const struct cay_json_value *member)
{
        strncat(ctx, name, 8);
        return name[0] != 'y';
}

static void members_come_in_order(void **state)
{
        struct cay_json_in *doc = parse("{\"z\":1,\"a\":2,\"y\":3,\"b\":4}");
        char names[64] = "";

        cay_json_value_each(cay_json_in_root(doc), gather, names);
        assert_string_equal(names, "zay");
        cay_json_in_free(doc);
}

static void values_print_as_they_came(void **state)
{
        const char text[] =
                "{\"z\":[1,-2,9223372036854775807],\"r\":0.1,\"t\":\"\\u00e9\\n\\\"\",\"e\":{},\"n\":null}";
        struct cay_json_in *doc = parse(text);
        cay_auto_buf struct cay_buf out, tiny;

        cay_buf_init(&out, 4096);
        cay_buf_init(&tiny, 5);
        assert_int_equal(cay_json_value_print(cay_json_in_root(doc), &out), 0);
        assert_string_equal(
                cay_buf_data(&out),
                "{\"z\":[1,-2,9223372036854775807],\"r\":0.1,\"t\":\"\xc3\xa9\\n\\\"\",\"e\":{},\"n\":null}");
        assert_int_equal(cay_json_value_print(cay_json_in_root(doc), &tiny), -ENOSPC);
        cay_buf_clear(&out);
        assert_int_equal(cay_json_value_print(NULL, &out), 0);
        assert_string_equal(cay_buf_data(&out), "null");
        cay_json_in_free(doc);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(what_is_not_json_is_refused),
                cmocka_unit_test(the_message_does_not_quote_the_input),
                cmocka_unit_test(depth_is_bounded_without_recursion),
                cmocka_unit_test(bytes_and_values_are_bounded),
                cmocka_unit_test(values_can_be_looked_at),
                cmocka_unit_test(members_come_in_order),
                cmocka_unit_test(values_print_as_they_came),
        };

        cay_json_in_seed(12345);
        return cmocka_run_group_tests(tests, NULL, NULL);
}
