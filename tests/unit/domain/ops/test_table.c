/* SPDX-License-Identifier: Apache-2.0 */
/* Walks the table of ops: what every row promises to dialects and reference pages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "domain/model/limits.h"
#include "domain/ops/limit_fields.h"
#include "domain/ops/op.h"

#define FIELDS_MAX 64u /* what dialects can keep account of */

static const struct cay_field *find(const struct cay_op *op, const char *name, size_t len)
{
        return op->fields ? cay_field_find(op->fields, name, len) : NULL;
}

static void test_rows_are_whole(void **state)
{
        for (unsigned i = 0; i < cay_op_count; i++) {
                const struct cay_op *op = cay_ops[i];

                assert_true(strlen(op->name) > 0 && strlen(op->name) < 64);
                assert_true(strspn(op->name, "abcdefghijklmnopqrstuvwxyz_") == strlen(op->name));
                assert_true(strlen(op->doc) > 10);
                assert_non_null(op->run);
                assert_true((op->scope == 0) == ((op->flags & CAY_OP_OPEN) != 0));
                assert_true((op->args_size == 0) == (op->fields == NULL));
                assert_ptr_equal(cay_op_find(op->name), op);
        }
        assert_null(cay_op_find("no_such_op"));
        (void)state;
}

static void test_rows_differ(void **state)
{
        for (unsigned i = 0; i < cay_op_count; i++)
                for (unsigned k = 0; k < i; k++) {
                        assert_string_not_equal(cay_ops[i]->name, cay_ops[k]->name);
                        assert_string_not_equal(cay_ops[i]->route, cay_ops[k]->route);
                }
        (void)state;
}

static void check_fields(const struct cay_field *fields, size_t size)
{
        unsigned count = 0;

        for (const struct cay_field *f = fields; f->name; f++, count++) {
                assert_true(f->doc && f->doc[0]);
                assert_true(f->offset < size);
                for (const struct cay_field *other = fields; other != f; other++)
                        assert_string_not_equal(other->name, f->name);
                if (f->kind == CAY_FIELD_OBJECT)
                        check_fields(f->fields, size);
        }
        assert_true(count <= FIELDS_MAX);
}

static void test_fields(void **state)
{
        for (unsigned i = 0; i < cay_op_count; i++)
                if (cay_ops[i]->fields)
                        check_fields(cay_ops[i]->fields, cay_ops[i]->args_size);
        (void)state;
}

/* Each name in a route is a text field that cannot be empty, and is not required elsewhere. */
static void test_routes(void **state)
{
        for (unsigned i = 0; i < cay_op_count; i++) {
                const struct cay_op *op = cay_ops[i];

                if (strcmp(op->route, "GET /metrics") != 0) /* where those who collect figures look */
                        assert_non_null(strstr(op->route, " /api/"));
                for (const char *at = op->route; (at = strchr(at, '{')) != NULL; at++) {
                        const struct cay_field *f = find(op, at + 1, strcspn(at + 1, "}"));

                        assert_non_null(f);
                        assert_int_equal(f->kind, CAY_FIELD_TEXT);
                        assert_true(f->min >= 1);
                        assert_false(f->flags & CAY_FIELD_REQUIRED);
                }
        }
        (void)state;
}

/* What changes something is never a GET, and what destroys says so. */
static void test_methods(void **state)
{
        for (unsigned i = 0; i < cay_op_count; i++) {
                const struct cay_op *op = cay_ops[i];

                if (strncmp(op->route, "GET ", 4) == 0)
                        assert_false(op->scope == CAY_SCOPE_EXEC ||
                                     op->flags & (CAY_OP_RAW_IN | CAY_OP_DESTRUCTIVE));
                if (strncmp(op->route, "DELETE ", 7) == 0)
                        assert_true(op->flags & CAY_OP_DESTRUCTIVE);
        }
        (void)state;
}

static void test_scope(void **state)
{
        struct cay_caller reader = { .owner = "a", .scopes = CAY_SCOPE_READ };
        struct cay_caller user = { .owner = "a", .scopes = CAY_SCOPE_READ | CAY_SCOPE_EXEC };
        struct cay_caller nobody = { .owner = "" };
        struct cay_error err = { 0 };

        assert_int_equal(cay_op_check_scope(cay_op_find("sandbox_get"), &reader, &err), 0);
        assert_int_equal(cay_op_check_scope(cay_op_find("exec_run"), &user, &err), 0);
        assert_int_equal(cay_op_check_scope(cay_op_find("health_live"), &nobody, &err), 0);
        assert_int_equal(err.code, CAY_OK);
        assert_int_equal(cay_op_check_scope(cay_op_find("exec_run"), &reader, &err), -1);
        assert_int_equal(err.code, CAY_DENIED);
        assert_int_equal(cay_op_check_scope(cay_op_find("key_make"), &user, &err), -1);
        assert_int_equal(cay_op_check_scope(cay_op_find("sandbox_get"), &nobody, &err), -1);
        (void)state;
}

static void test_limit_fields(void **state)
{
        struct cay_limits limits = { 0 };
        struct cay_error err = { 0 };
        const struct cay_field *memory = cay_field_find(cay_op_limit_fields, "memory", 6);
        const struct cay_field *cpus = cay_field_find(cay_op_limit_fields, "cpus", 4);

        assert_int_equal(cay_field_set_text(memory, "limits.memory", "1g", &limits, &err), 0);
        assert_int_equal(cay_field_set_text(cpus, "limits.cpus", "1.5", &limits, &err), 0);
        assert_int_equal(limits.memory_bytes, 1ull << 30);
        assert_int_equal(limits.cpu_milli, 1500);
        assert_int_equal(cay_field_set_text(memory, "limits.memory", "99999999999999g", &limits, &err), -1);
        assert_int_equal(err.code, CAY_INVALID);
        assert_non_null(strstr(err.msg, "limits.memory"));
        assert_int_equal(limits.memory_bytes, 1ull << 30);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_rows_are_whole), cmocka_unit_test(test_rows_differ),
                cmocka_unit_test(test_fields),         cmocka_unit_test(test_routes),
                cmocka_unit_test(test_methods),        cmocka_unit_test(test_scope),
                cmocka_unit_test(test_limit_fields),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
