/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of other people's surfaces lead to ops that are there, and what they ask for is what the ops take.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "domain/settings/config.h"
#include "dialects/containers/containers.h"
#include "dialects/shared/foreign.h"
#include "dialects/sandbox_service/service_api.h"

static struct cay_config config;
static struct cay_op_world world = { .config = &config };

/* Translates a body as a request would, and reads it back by the op's own table. */
static enum cay_code translate(const struct cay_rest_more *row, const char *body,
                               char ret_field[CAY_JSON_IN_FIELD_MAX + 1])
{
        const struct cay_foreign_row *r = row->owner;
        cay_auto(cay_json_in_freep) struct cay_json_in *in = NULL, *out = NULL;
        _Alignas(max_align_t) char args[1024] = { 0 }, values[8192] = { 0 };
        const struct cay_foreign f = { .row = r, .world = &world, .args = args, .request_id = "r" };
        static const struct cay_field none[] = { { .name = NULL } };
        cay_auto_buf struct cay_buf text = { 0 };
        struct cay_error err = { 0 };
        const struct cay_op *op;
        const char *field = NULL;
        struct cay_json j;

        assert_true(r->args_size <= sizeof(args));
        ret_field[0] = '\0';
        assert_int_equal(cay_json_in_parse(body, strlen(body), NULL, &in, &err), 0);
        if (cay_json_in_read(in, cay_json_in_root(in), r->fields ? r->fields : none, args, ret_field, &err) <
            0)
                return err.code;
        op = cay_op_find(r->choose ? r->choose(&f) : r->op);
        assert_non_null(op);
        assert_true(op->args_size <= sizeof(values));
        cay_buf_init(&text, 65536);
        cay_json_init(&j, &text);
        cay_json_begin_object(&j);
        if (r->put_args && r->put_args(&f, &j, &field, &err) < 0) {
                strncpy(ret_field, field ? field : "", CAY_JSON_IN_FIELD_MAX);
                return err.code;
        }
        cay_json_end_object(&j);
        assert_int_equal(cay_json_end(&j), 0);
        assert_int_equal(cay_json_in_parse(cay_buf_data(&text), text.len, NULL, &out, &err), 0);
        if (cay_json_in_read(out, cay_json_in_root(out), op->fields ? op->fields : none, values, NULL, &err) <
            0)
                fail_msg("%s asks %s for what it does not take: %s (%s)", row->row, op->name, err.msg,
                         (const char *)cay_buf_data(&text));
        return CAY_OK;
}

static const struct cay_rest_more *find(const char *route)
{
        for (unsigned i = 0; i < cay_containers_count; i++)
                if (strcmp(cay_containers_rows[i].row, route) == 0)
                        return &cay_containers_rows[i];
        for (unsigned i = 0; i < cay_service_count; i++)
                if (strcmp(cay_service_rows[i].row, route) == 0)
                        return &cay_service_rows[i];
        fail_msg("no row %s", route);
        return NULL;
}

static void check_rows(const struct cay_rest_more *rows, unsigned count)
{
        for (unsigned i = 0; i < count; i++) {
                const struct cay_foreign_row *r = rows[i].owner;
                const struct cay_op *op = cay_op_find(r->op);

                assert_ptr_equal(rows[i].handle, cay_foreign_handle);
                assert_non_null(op);
                assert_int_equal(rows[i].is_open, (op->flags & CAY_OP_OPEN) != 0); /* no row opens an op */
        }
}

static void test_rows(void **state)
{
        check_rows(cay_containers_rows, cay_containers_count);
        check_rows(cay_service_rows, cay_service_count);
        (void)state;
}

static void test_bodies(void **state)
{
        static const struct {
                const char *route, *body;
                enum cay_code code;
                const char *field;
        } cases[] = {
                { "GET /containers", "{}", CAY_OK, "" },
                { "POST /containers/start",
                  "{\"container\":\"a\",\"code\":\"b\",\"timeout\":1.5,\"env\":{\"c\":\"d\"}}", CAY_OK, "" },
                { "POST /containers/start",
                  "{\"trigger\":\"a\",\"command\":[\"b\",\"c\"],\"stream\":true,\"keep\":false}", CAY_OK,
                  "" },
                { "POST /containers/start",
                  "{\"name\":\"a\",\"timeout\":\"2h\",\"confirm\":\"x\",\"execution_id\":\"y\"}", CAY_OK,
                  "" },
                { "POST /containers/start", "{\"name\":\"a\",\"template\":\"a\"}", CAY_INVALID, "template" },
                { "POST /containers/start", "{\"task\":\"a\"}", CAY_INVALID, "trigger" },
                { "POST /containers/exec", "{\"name\":\"a\",\"command\":\"b\",\"stdin\":\"\\u00e9\"}", CAY_OK,
                  "" },
                { "POST /containers/exec", "{\"command\":\"b\"}", CAY_INVALID, "container_id" },
                { "POST /containers/stop", "{\"container\":\"a\"}", CAY_OK, "" },
                { "POST /containers/stop", "{\"container\":\"a\",\"container_id\":\"a\"}", CAY_INVALID,
                  "container" },
                { "GET /containers/status", "{\"cursor\":\"x\"}", CAY_OK, "" },
                { "POST /containers/cleanup", "{}", CAY_OK, "" },
                { "POST /sandbox/execute", "{\"code\":\"a\",\"metadata\":{\"b\":[1]},\"url\":null}", CAY_OK,
                  "" },
                { "POST /sandbox/execute", "{\"sandbox_type\":\"desktop\"}", CAY_INVALID, "sandbox_type" },
                { "POST /sandbox/execute", "{\"sandbox_type\":\"browser\"}", CAY_INVALID, "url" },
                { "POST /sandbox/execute",
                  "{\"sandbox_type\":\"browser\",\"url\":\"http://a\",\"action\":\"dom\"}", CAY_OK, "" },
                { "POST /sandbox/execute", "{\"code\":\"a\",\"action\":\"b\"}", CAY_INVALID, "action" },
                { "POST /sandbox/cleanup", "{}", CAY_OK, "" },
                { "POST /sandbox/cleanup", "{\"idle_for\":0.5}", CAY_INVALID, "idle_for" },
                { "GET /health", "{}", CAY_OK, "" },
                { "GET /sandbox/metrics", "{}", CAY_OK, "" },
        };
        char field[CAY_JSON_IN_FIELD_MAX + 1];

        for (size_t i = 0; i < CAY_COUNT(cases); i++) {
                assert_int_equal(translate(find(cases[i].route), cases[i].body, field), cases[i].code);
                assert_string_equal(field, cases[i].field);
        }
        (void)state;
}

static int set_up(void **state)
{
        struct cay_error err = { 0 };

        (void)state;
        return cay_config_init(&config, &err);
}

static int tear_down(void **state)
{
        (void)state;
        cay_config_done(&config);
        return 0;
}

/* What the reference says of a row is what its op asks for and its table takes. */
static void check_listed(const struct cay_rest_more *rows, unsigned count)
{
        for (unsigned i = 0; i < count; i++) {
                const struct cay_foreign_row *r = rows[i].owner;
                const struct cay_op *listed = rows[i].listed, *op = cay_op_find(r->op);

                assert_non_null(listed);
                assert_string_equal(listed->route, rows[i].row);
                assert_ptr_equal(listed->fields, r->fields);
                assert_int_equal(listed->scope, rows[i].is_open ? 0 : op->scope);
                assert_int_equal(!!(listed->flags & CAY_OP_OPEN), rows[i].is_open);
                assert_int_equal(listed->flags & CAY_OP_STREAM, op->flags & CAY_OP_STREAM);
                assert_int_equal(listed->flags & CAY_OP_DESTRUCTIVE, op->flags & CAY_OP_DESTRUCTIVE);
                assert_non_null(listed->result);
        }
}

static void test_listed(void **state)
{
        check_listed(cay_containers_rows, cay_containers_count);
        check_listed(cay_service_rows, cay_service_count);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows), cmocka_unit_test(test_listed),
                                            cmocka_unit_test(test_bodies) };

        return cmocka_run_group_tests(tests, set_up, tear_down);
}
