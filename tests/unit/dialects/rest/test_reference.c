/* SPDX-License-Identifier: Apache-2.0 */
/* The reference has every op, as a page whose one script is a file of ours, and as JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dialects/rest/rest_reference.h"
#include "foundation/json/json_in.h"
#include "domain/ops/op.h"

static void test_page(void **state)
{
        const struct cay_rest_listing listing = { cay_ops, cay_op_count };
        static const char own_script[] = "<script src=/login.js defer></script>";
        static const char *const elsewhere[] = { "=http", "=\"http", "='http", "=//", "=\"//", "='//" };
        const char *script;
        cay_auto_buf struct cay_buf out = { 0 };

        cay_buf_init(&out, CAY_REFERENCE_MAX);
        assert_int_equal(cay_reference_html(&listing, &out), 0);
        for (unsigned i = 0; i < cay_op_count; i++)
                assert_non_null(strstr(cay_buf_data(&out), cay_ops[i]->route));
        script = strstr(cay_buf_data(&out), "<script");
        assert_non_null(script);
        assert_true(strncmp(script, own_script, strlen(own_script)) == 0);
        assert_null(strstr(script + 1, "<script"));
        assert_null(strstr(cay_buf_data(&out), "style="));
        /* An address in a text, such as wss://HOST, fetches nothing. */
        for (unsigned i = 0; i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
                assert_null(strstr(cay_buf_data(&out), elsewhere[i]));
        assert_null(strstr(cay_reference_css, "url("));
        (void)state;
}

static void test_json(void **state)
{
        const struct cay_rest_listing listing = { cay_ops, cay_op_count };
        cay_auto_buf struct cay_buf out = { 0 };
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        const struct cay_json_value *ops;
        struct cay_error err = { 0 };

        cay_buf_init(&out, CAY_REFERENCE_MAX);
        assert_int_equal(cay_reference_json(&listing, &out), 0);
        assert_int_equal(cay_json_in_parse(cay_buf_data(&out), out.len, NULL, &doc, &err), 0);
        ops = cay_json_value_find(cay_json_in_root(doc), "ops");
        assert_int_equal(cay_json_value_count(ops), cay_op_count);
        for (unsigned i = 0; i < cay_op_count; i++) {
                const struct cay_json_value *op = cay_json_value_at(ops, i);

                assert_string_equal(cay_json_value_text(cay_json_value_find(op, "name")), cay_ops[i]->name);
                assert_true(strlen(cay_json_value_text(cay_json_value_find(op, "scope"))) > 0);
        }
        (void)state;
}

static void test_full_buffer(void **state)
{
        const struct cay_rest_listing listing = { cay_ops, cay_op_count };
        cay_auto_buf struct cay_buf out = { 0 };

        cay_buf_init(&out, 100);
        assert_true(cay_reference_html(&listing, &out) < 0);
        cay_buf_clear(&out);
        assert_true(cay_reference_json(&listing, &out) < 0);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_page),
                cmocka_unit_test(test_json),
                cmocka_unit_test(test_full_buffer),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
