/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as E2B's clients decide by them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dialects/e2b/e2b_priv.h"

static void test_forms(void **state)
{
        static const struct {
                enum e2b_form form;
                const char *text;
        } rows[] = {
                { E2B_FORM_REST, "{\"code\":404,\"message\":\"it's \\\"gone\\\"\"}" },
                { E2B_FORM_UNARY, "{\"code\":\"not_found\",\"message\":\"it's \\\"gone\\\"\"}" },
                { E2B_FORM_TEXT, "it's \"gone\"" },
        };

        for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                cay_auto_buf struct cay_buf out = { 0 };

                cay_buf_init(&out, 256);
                e2b_put_error(&out, rows[i].form, 404, "not_found", "it's \"gone\"");
                assert_string_equal(cay_buf_data(&out), rows[i].text);
        }
        (void)state;
}

static void test_frame(void **state)
{
        cay_auto_buf struct cay_buf out = { 0 };

        cay_buf_init(&out, 256);
        e2b_put_frame_error(&out, "not_found", "no process");
        assert_string_equal(cay_buf_data(&out),
                            "{\"error\":{\"code\":\"not_found\",\"message\":\"no process\"}}");
        (void)state;
}

/* Every code of ours has a status and a word, and every word has a status. */
static void test_codes(void **state)
{
        for (unsigned code = CAY_OK + 1; code < CAY_CODE_COUNT; code++) {
                assert_true(e2b_status(code) >= 400 && e2b_status(code) < 600);
                assert_true(e2b_connect_status(e2b_connect_code(code)) >= 400);
        }
        assert_int_equal(e2b_status(CAY_NOT_FOUND), 404);
        assert_string_equal(e2b_connect_code(CAY_EXISTS), "already_exists");
        assert_int_equal(e2b_connect_status("unauthenticated"), 401);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_forms),
                cmocka_unit_test(test_frame),
                cmocka_unit_test(test_codes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
