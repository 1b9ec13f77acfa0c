/* SPDX-License-Identifier: Apache-2.0 */
/* What is written into a tree is what the same calls would make as text, parsed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "foundation/json/json_tree.h"

static void write_all(struct cay_json *j, const struct cay_json_value *part)
{
        cay_json_begin_object(j);
        cay_json_key(j, "text");
        cay_json_text(j, "a\"\n\xc3\xa9");
        cay_json_key(j, "broken");
        cay_json_string(j, "x\xffy", 3);
        cay_json_key(j, "none");
        cay_json_text(j, NULL);
        cay_json_key(j, "list");
        cay_json_begin_array(j);
        cay_json_i64(j, -5);
        cay_json_u64(j, 7);
        cay_json_bool(j, true);
        cay_json_begin_object(j);
        cay_json_end_object(j);
        cay_json_begin_array(j);
        cay_json_end_array(j);
        cay_json_end_array(j);
        cay_json_key(j, "raw");
        cay_json_raw(j, "{\"a\":[1,2]}", 11);
        cay_json_key(j, "part");
        cay_json_value_put(j, part);
        cay_json_key(j, "no_part");
        cay_json_value_put(j, NULL);
        cay_json_end_object(j);
}

static void test_same_as_text(void **state)
{
        cay_auto(cay_json_in_freep) struct cay_json_in *other = NULL, *parsed = NULL, *doc = NULL;
        cay_auto_buf struct cay_buf text = { 0 }, one = { 0 }, two = { 0 };
        struct cay_json_sink *tree = cay_json_tree_new(1 << 20);
        struct cay_error err = { 0 };
        struct cay_json j;

        assert_int_equal(cay_json_in_parse("[1.5,{\"k\":null}]", 16, NULL, &other, &err), 0);
        cay_buf_init(&text, 1000);
        cay_json_init(&j, &text);
        write_all(&j, cay_json_in_root(other));
        assert_int_equal(cay_json_end(&j), 0);
        assert_int_equal(cay_json_in_parse(cay_buf_data(&text), text.len, NULL, &parsed, &err), 0);

        assert_non_null(tree);
        cay_json_init_sink(&j, tree);
        write_all(&j, cay_json_in_root(other));
        assert_int_equal(cay_json_end(&j), 0);
        doc = cay_json_tree_take(tree);
        assert_non_null(doc);
        assert_null(cay_json_tree_take(tree));
        tree->free(tree);

        cay_json_in_free(other); /* what was referred to lives on */
        other = NULL;
        cay_buf_init(&one, 1000);
        cay_buf_init(&two, 1000);
        assert_int_equal(cay_json_value_print(cay_json_in_root(parsed), &one), 0);
        assert_int_equal(cay_json_value_print(cay_json_in_root(doc), &two), 0);
        assert_string_equal(cay_buf_data(&one), cay_buf_data(&two));
        (void)state;
}

/* What a parser would refuse is refused; the failure stays. */
static void test_refusals(void **state)
{
        static const struct {
                const char *key, *text, *raw;
                size_t len;
        } rows[] = { { "a", "x", NULL, 1 },         /* the key is there already */
                     { "b", "x\0y", NULL, 3 },      /* a NUL */
                     { "b\xff", "x", NULL, 1 },     /* a key that is not UTF-8 */
                     { "b", NULL, "{\"x\":", 5 } }; /* half a value */

        for (size_t i = 0; i < CAY_COUNT(rows); i++) {
                struct cay_json_sink *tree = cay_json_tree_new(1 << 20);
                struct cay_json j;

                cay_json_init_sink(&j, tree);
                cay_json_begin_object(&j);
                cay_json_key(&j, "a");
                cay_json_null(&j);
                cay_json_key(&j, rows[i].key);
                if (rows[i].raw)
                        cay_json_raw(&j, rows[i].raw, rows[i].len);
                else
                        cay_json_string(&j, rows[i].text, rows[i].len);
                cay_json_end_object(&j);
                assert_int_equal(cay_json_end(&j), -EINVAL);
                assert_null(cay_json_tree_take(tree)); /* it is not complete */
                tree->free(tree);
        }
        (void)state;
}

static void test_large_number(void **state)
{
        struct cay_json_sink *tree = cay_json_tree_new(1 << 20);
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        struct cay_json j;
        int64_t n = 0;

        cay_json_init_sink(&j, tree);
        cay_json_begin_array(&j);
        cay_json_u64(&j, UINT64_MAX);
        cay_json_end_array(&j);
        doc = cay_json_tree_take(tree);
        tree->free(tree);
        assert_true(cay_json_value_i64(cay_json_value_at(cay_json_in_root(doc), 0), &n));
        assert_true(n == INT64_MAX);
        (void)state;
}

/* However it is filled: by one long text, or by many values that are nothing. */
static void test_room(void **state)
{
        for (unsigned is_text = 0; is_text < 2; is_text++) {
                struct cay_json_sink *tree = cay_json_tree_new(10000);
                char text[9000];
                struct cay_json j;

                memset(text, 'x', sizeof(text));
                cay_json_init_sink(&j, tree);
                cay_json_begin_array(&j);
                if (is_text)
                        cay_json_string(&j, text, sizeof(text));
                else
                        for (unsigned i = 0; i < 100; i++)
                                cay_json_null(&j);
                assert_int_equal(j.failed, 0);
                if (is_text)
                        cay_json_string(&j, text, sizeof(text));
                else
                        for (unsigned i = 0; i < 100; i++)
                                cay_json_null(&j);
                cay_json_end_array(&j);
                assert_int_equal(cay_json_end(&j), -ENOSPC);
                tree->free(tree);
        }
        (void)state;
}

static void test_nowhere(void **state)
{
        struct cay_json j;

        cay_json_init_sink(&j, cay_json_nowhere());
        write_all(&j, NULL);
        assert_int_equal(cay_json_end(&j), 0);
        cay_json_nowhere()->free(cay_json_nowhere());
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_same_as_text), cmocka_unit_test(test_refusals),
                cmocka_unit_test(test_large_number), cmocka_unit_test(test_room),
                cmocka_unit_test(test_nowhere),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
