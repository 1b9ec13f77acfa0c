/* SPDX-License-Identifier: Apache-2.0 */
/* The one form of errors: every code has a status, and what people wrote is data. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dialects/rest/rest.h"
#include "dialects/rest/rest_error.h"
#include "foundation/json/json_in.h"

static void test_statuses(void **state)
{
        static const struct {
                enum cay_code code;
                unsigned status;
        } rows[] = { { CAY_INVALID, 400 },     { CAY_NOT_FOUND, 404 },   { CAY_EXISTS, 409 },
                     { CAY_DENIED, 403 },      { CAY_CONFLICT, 409 },    { CAY_LIMIT, 429 },
                     { CAY_UNSUPPORTED, 422 }, { CAY_UNAVAILABLE, 503 }, { CAY_TIMEOUT, 504 },
                     { CAY_NO_SPACE, 507 },    { CAY_INTERNAL, 500 },    { CAY_DAMAGED, 410 } };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++)
                assert_int_equal(cay_rest_status(rows[i].code), rows[i].status);
        for (unsigned code = 1; code < CAY_CODE_COUNT; code++) {
                assert_true(cay_rest_status(code) >= 400 && cay_rest_status(code) < 600);
                assert_true(strlen(cay_http_status_text(cay_rest_status(code))) > 0);
        }
        assert_int_equal(cay_rest_status(CAY_CODE_COUNT), 500);
        (void)state;
}

static const struct cay_json_value *error_of(struct cay_buf *body, struct cay_json_in **doc)
{
        struct cay_error err = { 0 };

        assert_int_equal(cay_json_in_parse(cay_buf_data(body), body->len, NULL, doc, &err), 0);
        return cay_json_value_find(cay_json_in_root(*doc), "error");
}

static void test_form(void **state)
{
        cay_auto_buf struct cay_buf body = { 0 };
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        const struct cay_json_value *e;
        const struct cay_rest_error what = { .status = 400,
                                             .code = "invalid",
                                             .message = "\"\n\xff</script>",
                                             .field = "limits",
                                             .request_id = "abc",
                                             .first = "one" };

        cay_buf_init(&body, 4096);
        assert_int_equal(cay_rest_error_put(&body, &what), 0);
        e = error_of(&body, &doc);
        assert_string_equal(cay_json_value_text(cay_json_value_find(e, "code")), "invalid");
        assert_string_equal(cay_json_value_text(cay_json_value_find(e, "message")),
                            "\"\n\xef\xbf\xbd</script>");
        assert_string_equal(cay_json_value_text(cay_json_value_find(e, "field")), "limits");
        assert_string_equal(cay_json_value_text(cay_json_value_find(e, "request_id")), "abc");
        assert_string_equal(cay_json_value_text(cay_json_value_find(e, "first")), "one");
        (void)state;
}

/* The text tells a program's author what to send; confirm_why is for the person who is asked. */
static void test_confirmation(void **state)
{
        cay_auto_buf struct cay_buf body = { 0 };
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        const struct cay_rest_error what = { .status = 428,
                                             .code = "confirm",
                                             .message = "template 'risky' needs a confirmation",
                                             .request_id = "abc",
                                             .confirm = "token" };
        const struct cay_json_value *e;

        cay_buf_init(&body, 4096);
        assert_int_equal(cay_rest_error_put(&body, &what), 0);
        e = error_of(&body, &doc);
        assert_string_equal(cay_json_value_text(cay_json_value_find(e, "message")),
                            "template 'risky' needs a confirmation: send the same request again with the "
                            "field confirm set to this token, within 300 s");
        assert_string_equal(cay_json_value_text(cay_json_value_find(e, "confirm_why")),
                            "template 'risky' needs a confirmation");
        assert_string_equal(cay_json_value_text(cay_json_value_find(e, "confirm")), "token");
        (void)state;
}

static void test_faults_of_http(void **state)
{
        static const unsigned statuses[] = { 400, 408, 413, 414, 421, 429, 431, 501, 503, 505 };

        for (unsigned i = 0; i < CAY_COUNT(statuses); i++) {
                cay_auto_buf struct cay_buf body = { 0 }, fields = { 0 };
                cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
                const struct cay_http_fault fault = { statuses[i], "too much", .may_repeat = i % 2 };
                const struct cay_json_value *e;
                char line[64];

                cay_buf_init(&body, 4096);
                cay_buf_init(&fields, 4096);
                assert_string_equal(cay_rest_fault(&fault, &fields, &body), CAY_REST_JSON);
                e = error_of(&body, &doc);
                snprintf(line, sizeof(line), "X-Request-Id: %s\r\n",
                         cay_json_value_text(cay_json_value_find(e, "request_id")));
                assert_string_equal(cay_buf_data(&fields), line);
                assert_string_equal(cay_json_value_text(cay_json_value_find(e, "message")), "too much");
                assert_true(strlen(cay_json_value_text(cay_json_value_find(e, "code"))) > 0);
                assert_int_equal(cay_json_value_find(e, "reason") != NULL, fault.may_repeat);
        }
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_statuses),
                cmocka_unit_test(test_form),
                cmocka_unit_test(test_confirmation),
                cmocka_unit_test(test_faults_of_http),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
