/* SPDX-License-Identifier: Apache-2.0 */
/* How things look to clients: always JSON, no byte changed, and the ways in which a call ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "foundation/json/json_in.h"
#include "domain/ops/view.h"

static struct cay_json_in *parse(struct cay_buf *buf, struct cay_json *j)
{
        struct cay_json_in *doc = NULL;
        struct cay_error err = { 0 };

        cay_json_end_object(j);
        assert_int_equal(cay_json_end(j), 0);
        assert_int_equal(cay_json_in_parse(cay_buf_data(buf), buf->len, NULL, &doc, &err), 0);
        return doc;
}

static void begin(struct cay_buf *buf, struct cay_json *j)
{
        cay_buf_init(buf, 65536);
        cay_json_init(j, buf);
        cay_json_begin_object(j);
}

static const char *text(struct cay_json_in *doc, const char *key)
{
        return cay_json_value_text(cay_json_value_find(cay_json_in_root(doc), key));
}

static void test_bytes(void **state)
{
        cay_auto_buf struct cay_buf buf = { 0 };
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        struct cay_json j;

        begin(&buf, &j);
        cay_op_put_bytes(&j, "a", "a64", "h\303\244", 3);
        cay_op_put_bytes(&j, "b", "b64", "\377\0", 2);
        cay_op_put_bytes(&j, "c", "c64", "", 0);
        doc = parse(&buf, &j);
        assert_string_equal(text(doc, "a"), "h\303\244");
        assert_null(cay_json_value_find(cay_json_in_root(doc), "a64"));
        assert_null(cay_json_value_find(cay_json_in_root(doc), "b"));
        assert_string_equal(text(doc, "b64"), "/wA=");
        assert_string_equal(text(doc, "c"), "");
        (void)state;
}

static void test_time(void **state)
{
        cay_auto_buf struct cay_buf buf = { 0 };
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        struct cay_json j;

        begin(&buf, &j);
        cay_op_key_time(&j, "then", 951782400007);
        cay_op_key_time(&j, "never", 0);
        doc = parse(&buf, &j);
        assert_string_equal(text(doc, "then"), "2000-02-29T00:00:00.007Z");
        assert_int_equal(cay_json_value_type(cay_json_value_find(cay_json_in_root(doc), "never")),
                         CAY_JSON_NULL);
        (void)state;
}

static void test_event(void **state)
{
        const struct cay_store_event event = { .seq = 7,
                                               .sandbox = "s",
                                               .owner = "o",
                                               .kind = "made",
                                               .detail = "{\"a\":[1,2]}",
                                               .wall_ms = 1 };
        cay_auto_buf struct cay_buf buf = { 0 };
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        struct cay_json j;

        begin(&buf, &j);
        cay_op_put_members(&j, &cay_result_event, &event);
        cay_op_key_text(&j, "behind", "it");
        doc = parse(&buf, &j);
        assert_int_equal(cay_json_value_count(cay_json_value_find(
                                 cay_json_value_find(cay_json_in_root(doc), "detail"), "a")),
                         2);
        assert_string_equal(text(doc, "behind"), "it");
        (void)state;
}

static void test_sandbox(void **state)
{
        struct cay_field_pair pairs[] = { { "project_name", "p\"x" } };
        const struct cay_limits limits = { .memory_bytes = 5 };
        const struct cay_sandbox_view view = {
                .id = "abc",
                .name = "",
                .owner = "o",
                .template_name = "host",
                .engine = "native",
                .labels = { pairs, 1 },
                .limits = &limits,
                .skipped = CAY_LIMIT_BIT(pids),
                .workspace_path = "",
                .workspace_in = "/workspace",
                .cause_text = "",
                .busy_with = "",
                .state = CAY_STATE_ERROR,
                .cause = CAY_CAUSE_ENGINE_LOST,
        };
        cay_auto_buf struct cay_buf buf = { 0 };
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        struct cay_json j;
        int64_t n = 0;

        begin(&buf, &j);
        cay_op_put_sandbox(&j, &view, CAY_OP_REST);
        doc = parse(&buf, &j);
        assert_string_equal(text(doc, "sandbox_id"), "abc");
        assert_string_equal(text(doc, "project_name"), "p\"x");
        assert_string_equal(text(doc, "status"), "error");
        assert_string_equal(text(doc, "cause"), "engine_lost");
        assert_null(text(doc, "name"));
        assert_true(cay_json_value_i64(
                cay_json_value_find(cay_json_value_find(cay_json_in_root(doc), "limits"), "memory_bytes"),
                &n));
        assert_int_equal(n, 5);
        assert_null(cay_json_value_find(cay_json_in_root(doc), "env"));
        (void)state;
}

/* Answers: one that cannot be written is a failure, not half an answer. */

static struct {
        unsigned answers, fails;
        enum cay_code code;
} seen;

static void on_answer(struct cay_op_call *c, enum cay_op_status status, struct cay_op_result *r)
{
        seen.answers++;
        assert_int_equal(cay_buf_data(&r->text)[r->text.len - 1], '}');
        (void)c;
        (void)status;
}

static void on_fail(struct cay_op_call *c, const struct cay_error *err, const char *field)
{
        seen.fails++;
        seen.code = err->code;
        (void)c;
        (void)field;
}

static void test_answers(void **state)
{
        static const struct cay_op op = { .name = "x" };
        const struct cay_op_responder responder = { .answer = on_answer, .fail = on_fail };
        struct cay_op_call call = { .op = &op, .responder = &responder };
        struct cay_op_result o;

        cay_op_result_begin(&o, &call);
        cay_op_key_u64(&o.j, "n", 1);
        cay_op_result_answer(&o, &call, CAY_OP_OK);
        assert_int_equal(seen.answers, 1);
        cay_op_result_begin(&o, &call);
        cay_json_key(&o.j, "without its value");
        cay_op_result_answer(&o, &call, CAY_OP_OK);
        assert_int_equal(seen.answers, 1);
        assert_int_equal(seen.fails, 1);
        assert_int_equal(seen.code, CAY_INTERNAL);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_bytes),   cmocka_unit_test(test_time),    cmocka_unit_test(test_event),
                cmocka_unit_test(test_sandbox), cmocka_unit_test(test_answers),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
