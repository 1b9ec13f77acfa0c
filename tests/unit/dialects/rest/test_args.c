/* SPDX-License-Identifier: Apache-2.0 */
/* Path, query and body fill one struct; what comes twice, is unknown or is missing is refused and named. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "dialects/rest/rest_args.h"

struct values {
        const char *id, *path;
        uint64_t count;
        bool flag;
        struct cay_field_texts command;
};

static const struct cay_field fields[] = {
        { "id", CAY_FIELD_TEXT, offsetof(struct values, id), 0, "x", .min = 1, .max = 8 },
        { "path", CAY_FIELD_TEXT, offsetof(struct values, path), CAY_FIELD_REQUIRED, "x" },
        { "count", CAY_FIELD_U64, offsetof(struct values, count), 0, "x", .min = 1, .max = 10 },
        { "flag", CAY_FIELD_BOOL, offsetof(struct values, flag), 0, "x" },
        { "command", CAY_FIELD_WORDS, offsetof(struct values, command), 0, "x" },
        {},
};

struct rig {
        struct values values;
        struct cay_rest_args args;
        struct cay_error err;
};

static void begin(struct rig *r)
{
        memset(r, 0, sizeof(*r));
        cay_rest_args_init(&r->args, fields, &r->values);
}

static int body(struct rig *r, const char *text)
{
        return cay_rest_args_body(&r->args, text, strlen(text), NULL, &r->err);
}

static void test_all_places(void **state)
{
        struct rig r;

        begin(&r);
        assert_int_equal(cay_rest_args_set(&r.args, "id/rest", 2, "me", &r.err), 0);
        assert_int_equal(cay_rest_args_query(&r.args, "count=3&flag=true", &r.err), 0);
        assert_int_equal(body(&r, "{\"path\": \"a b\", \"command\": [\"x\", \"y\"]}"), 0);
        assert_int_equal(cay_rest_args_check(&r.args, &r.err), 0);
        assert_string_equal(r.values.id, "me");
        assert_string_equal(r.values.path, "a b");
        assert_int_equal(r.values.count, 3);
        assert_true(r.values.flag);
        assert_int_equal(r.values.command.count, 2);
        assert_int_equal(r.err.code, CAY_OK);
        cay_rest_args_done(&r.args);
        (void)state;
}

static void test_query_decodes(void **state)
{
        struct rig r;

        begin(&r);
        assert_int_equal(cay_rest_args_query(&r.args, "path=%2Fa%20b+c%26", &r.err), 0);
        assert_string_equal(r.values.path, "/a b c&");
        assert_int_equal(cay_rest_args_query(&r.args, NULL, &r.err), 0);
        cay_rest_args_done(&r.args);
        (void)state;
}

static void test_refused(void **state)
{
        static const struct {
                const char *query, *body, *field;
        } rows[] = {
                { "nothing=1", NULL, "nothing" },
                { "count=1&count=2", NULL, "count" },
                { "count=11", NULL, "count" },
                { "count=-1", NULL, "count" },
                { "count=", NULL, "count" },
                { "flag=maybe", NULL, "flag" },
                { "id=123456789", NULL, "id" },
                { "command=x", NULL, "command" },
                { "path=%zz", NULL, "" },
                { "path=%ff", NULL, "" },
                { NULL, "{\"path\": 1}", "path" },
                { NULL, "{\"count\": 1}", "path" },
                { NULL, "{\"path\": \"x\", \"other\": 1}", "other" },
                { NULL, "{\"path\": \"x\", \"command\": [1]}", NULL },
                { NULL, "[1]", "" },
                { NULL, "{", "" },
                { "path=x", "{\"path\": \"y\"}", "path" },
                { "id=x", "{\"path\": \"y\", \"id\": \"z\"}", "id" },
        };

        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                struct rig r;
                int failed;

                begin(&r);
                failed = cay_rest_args_query(&r.args, rows[i].query, &r.err) < 0 ||
                         (rows[i].body && body(&r, rows[i].body) < 0);
                assert_true(failed);
                assert_int_equal(r.err.code, CAY_INVALID);
                if (rows[i].field && rows[i].field[0])
                        assert_string_equal(r.args.field, rows[i].field);
                cay_rest_args_done(&r.args);
        }
        (void)state;
}

static void test_required(void **state)
{
        struct rig r;

        begin(&r);
        assert_int_equal(cay_rest_args_query(&r.args, "count=1", &r.err), 0);
        assert_int_equal(cay_rest_args_check(&r.args, &r.err), -1);
        assert_string_equal(r.args.field, "path");
        cay_rest_args_done(&r.args);
        (void)state;
}

static void test_too_deep(void **state)
{
        const struct cay_json_in_limits limits = { .depth = 2 };
        struct rig r;

        begin(&r);
        assert_int_equal(cay_rest_args_body(&r.args, "{\"path\":[[[]]]}", 15, &limits, &r.err), -1);
        assert_int_equal(r.err.code, CAY_INVALID);
        cay_rest_args_done(&r.args);
        (void)state;
}

static void test_no_table(void **state)
{
        struct cay_rest_args args;
        struct cay_error err = { 0 };

        cay_rest_args_init(&args, NULL, NULL);
        assert_int_equal(cay_rest_args_check(&args, &err), 0);
        assert_false(cay_rest_args_has(&args, "id"));
        assert_int_equal(cay_rest_args_set(&args, "id", 2, "x", &err), -1);
        cay_rest_args_done(&args);
        (void)state;
}

/* What a browser says when it comes back wins over the address that it began with. */
static void test_overrule(void **state)
{
        struct rig r;

        begin(&r);
        assert_int_equal(cay_rest_args_query(&r.args, "path=x&count=3", &r.err), 0);
        assert_int_equal(cay_rest_args_overrule(&r.args, "count", "7", &r.err), 0);
        assert_int_equal(r.values.count, 7);
        assert_int_equal(cay_rest_args_overrule(&r.args, "count", "11", &r.err), -1);
        assert_int_equal(r.err.code, CAY_INVALID);
        assert_string_equal(r.args.field, "count");
        cay_rest_args_done(&r.args);
        begin(&r);
        assert_int_equal(cay_rest_args_overrule(&r.args, "nothing", "7", &r.err), -1);
        assert_int_equal(r.err.code, CAY_INVALID);
        cay_rest_args_done(&r.args);
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_overrule),      cmocka_unit_test(test_all_places),
                cmocka_unit_test(test_query_decodes), cmocka_unit_test(test_refused),
                cmocka_unit_test(test_required),      cmocka_unit_test(test_too_deep),
                cmocka_unit_test(test_no_table),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
