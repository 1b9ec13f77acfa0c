/* SPDX-License-Identifier: Apache-2.0 */
/* What clients say on a stream's way back: read strictly, input as bytes, orders as one struct. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dialects/rest/rest_order.h"

#define MAX 64u

static int read_text(struct cay_rest_order *o, const char *text, struct cay_error *err)
{
        return cay_rest_order_read(o, text, strlen(text), MAX, err);
}

static void test_input(void **state)
{
        struct cay_rest_order o;
        struct cay_error err = { 0 };

        assert_int_equal(read_text(&o, "{\"input\": \"a\\u00e4\\n\", \"eof\": true}", &err), 0);
        assert_int_equal(o.input.len, 4);
        assert_memory_equal(cay_buf_data(&o.input), "a\xc3\xa4\n", 4);
        assert_true(o.eof);
        assert_false(o.has_order);
        cay_rest_order_done(&o);
        assert_int_equal(read_text(&o, "{\"input_base64\": \"AP8=\"}", &err), 0);
        assert_int_equal(o.input.len, 2);
        assert_memory_equal(cay_buf_data(&o.input), "\0\xff", 2);
        assert_false(o.eof);
        cay_rest_order_done(&o);
        cay_rest_order_done(&o);
        (void)state;
}

static void test_orders(void **state)
{
        struct cay_rest_order o;
        struct cay_error err = { 0 };

        assert_int_equal(read_text(&o, "{\"rows\": 24, \"cols\": 65535, \"signal\": \"INT\"}", &err), 0);
        assert_true(o.has_order);
        assert_int_equal(o.order.rows, 24);
        assert_int_equal(o.order.cols, 65535);
        assert_string_equal(o.order.signal, "INT");
        assert_int_equal(o.input.len, 0);
        cay_rest_order_done(&o);
        (void)state;
}

static void test_refused(void **state)
{
        static const char *const rows[] = {
                "",
                "{",
                "[]",
                "{}",
                "7",
                "{\"eof\": false}",
                "{\"eof\": 1}",
                "{\"inputs\": \"x\"}",
                "{\"input\": 7}",
                "{\"input\": \"a\\u0000b\"}",
                "{\"input\": \"a\", \"input\": \"b\"}",
                "{\"input\": \"a\", \"input_base64\": \"YQ==\"}",
                "{\"input_base64\": \"YQ=\"}",
                "{\"input_base64\": \"Y!==\"}",
                "{\"rows\": 1}",
                "{\"cols\": 1}",
                "{\"rows\": 0, \"cols\": 1}",
                "{\"rows\": 65536, \"cols\": 1}",
                "{\"rows\": -1, \"cols\": 1}",
                "{\"rows\": 1.5, \"cols\": 1}",
                "{\"signal\": \"\"}",
                "{\"signal\": \"ABCDEFGHIJKLMNOPQRST\"}",
                "{\"signal\": 9}",
                "{\"signal\": {\"a\": [[[1]]]}}",
                "{\"input\": \"sixty-four bytes and more are more than this test lets through\"}",
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                struct cay_rest_order o;
                struct cay_error err = { 0 };

                assert_int_equal(read_text(&o, rows[i], &err), -1);
                assert_int_equal(err.code, CAY_INVALID);
                assert_true(err.msg[0] != '\0');
                cay_rest_order_done(&o);
        }
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_input),
                cmocka_unit_test(test_orders),
                cmocka_unit_test(test_refused),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
