/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every op says what it answers; no name stands twice in a table; what is written otherwise than a table says
 * is found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "domain/ops/op.h"
#include "domain/ops/result_check.h"
#include "domain/ops/result_rows.h"

static unsigned check_table(const struct cay_result_table *table, unsigned depth)
{
        unsigned members = 0;

        assert_true(depth < 8);
        for (const struct cay_result_field *f = table->fields; f->name; f++) {
                bool needs = f->kind == CAY_RESULT_OBJECT || f->kind == CAY_RESULT_LIST ||
                             f->kind == CAY_RESULT_MAP || f->kind == CAY_RESULT_ALSO;

                assert_int_equal(f->table != NULL, needs);
                assert_int_equal(f->name[0] == '\0', f->kind == CAY_RESULT_ALSO);
                for (const struct cay_result_field *g = table->fields; g < f; g++)
                        assert_true(f->name[0] == '\0' || strcmp(g->name, f->name) != 0);
                members += f->kind != CAY_RESULT_ALSO;
                if (f->table)
                        members += check_table(f->table, depth + 1) * (f->kind == CAY_RESULT_ALSO);
        }
        assert_true(members <= CAY_RESULT_MEMBERS_MAX);
        return members;
}

static void test_every_op(void **state)
{
        for (unsigned i = 0; i < cay_op_count; i++) {
                const struct cay_op *op = cay_ops[i];

                if (!op->result && !op->bytes && !(op->flags & CAY_OP_STREAM))
                        fail_msg("the row of %s does not say what it answers", op->name);
                if (op->result)
                        check_table(op->result, 0);
        }
        (void)state;
}

RESULT(inner, NULL, TEXT("name"), MAYBE("size", NUMBER));
RESULT(base, NULL, TEXT("id"), IF("note", TEXT));
RESULT(whole, NULL, ALSO(base), BOOL("on"), LIST("rows", inner), TEXTS("words"), WORDS("command"),
       COUNTS("counts"), IF_OBJECT("one", inner), SOME("any", ANY), MAYBE("either", EITHER));
RESULT(whole_map, NULL, MAP("*", inner));

#define FRONT "\"id\":\"a\",\"on\":true,"
#define BACK "\"words\":[\"w\"],\"command\":\"c\",\"counts\":{\"n\":1},\"either\":null"

/* A few marks are enough to write all that the table knows: J is the JSON itself, written value by value. */
static const char *write_value(struct cay_json *j, const char *at);

static const char *write_level(struct cay_json *j, const char *at, char end)
{
        while (*at != end) {
                const char *stop;

                if (*at == ',') {
                        at++;
                        continue;
                }
                if (end == '}') {
                        char key[32] = "";

                        stop = strchr(at + 1, '"');
                        memcpy(key, at + 1, (size_t)(stop - at - 1));
                        cay_json_key(j, key);
                        at = stop + 2;
                }
                at = write_value(j, at);
        }
        return at + 1;
}

static const char *write_value(struct cay_json *j, const char *at)
{
        const char *stop;

        switch (*at) {
        case '{':
                cay_json_begin_object(j);
                at = write_level(j, at + 1, '}');
                cay_json_end_object(j);
                return at;
        case '[':
                cay_json_begin_array(j);
                at = write_level(j, at + 1, ']');
                cay_json_end_array(j);
                return at;
        case '"':
                stop = strchr(at + 1, '"');
                cay_json_string(j, at + 1, (size_t)(stop - at - 1));
                return stop + 1;
        case 't':
                cay_json_bool(j, true);
                return at + 4;
        case 'n':
                cay_json_null(j);
                return at + 4;
        default:
                cay_json_i64(j, *at - '0');
                return at + 1;
        }
}

static void test_check(void **state)
{
        static const struct {
                const struct cay_result_table *table;
                const char *json, *wrong; /* NULL: fine */
        } rows[] = {
                { &whole,
                  "{" FRONT "\"rows\":[{\"name\":\"x\",\"size\":1},{\"name\":\"y\",\"size\":null}]," BACK "}",
                  NULL },
                { &whole,
                  "{" FRONT
                  "\"note\":\"n\",\"one\":{\"name\":\"x\",\"size\":1},\"any\":{\"q\":[1]},\"rows\":[]," BACK
                  "}",
                  NULL },
                { &whole, "{" FRONT "\"rows\":[],\"other\":1," BACK "}", "no row has: other" },
                { &whole, "{" FRONT "\"rows\":[],\"id\":\"b\"," BACK "}", "written twice: id" },
                { &whole, "{\"on\":true,\"rows\":[]," BACK "}", "not written: id" },
                { &whole, "{\"id\":1}", "not of its kind: id" },
                { &whole, "{\"id\":null}", "not of its kind: id" },
                { &whole, "{" FRONT "\"rows\":[{\"name\":\"x\"}]," BACK "}", "not written: size" },
                { &whole, "{" FRONT "\"rows\":[{\"name\":\"x\",\"more\":1}]," BACK "}", "no row has: more" },
                { &whole, "{" FRONT "\"rows\":[1]," BACK "}", "not an object: an item" },
                { &whole, "{" FRONT "\"rows\":{}," BACK "}", "not of its kind: rows" },
                { &whole, "{\"words\":[1]}", "not of its kind: an item" },
                { &whole, "{\"counts\":{\"n\":\"x\"}}", "not of its kind: an item" },
                { &whole_map, "{\"a\":{\"name\":\"x\",\"size\":1},\"b\":{\"name\":\"x\",\"size\":1}}", NULL },
                { &whole_map, "{\"a\":{\"name\":\"x\"}}", "not written: size" },
                { &whole, "[]", "not written: id" },
                { &whole, "1", "not an object: the result" },
        };

        for (size_t i = 0; i < CAY_COUNT(rows); i++) {
                struct cay_result_check check;
                struct cay_json j;

                cay_result_check_init(&check, rows[i].table);
                cay_json_init_sink(&j, cay_json_nowhere());
                j.watch = &check.watch;
                write_value(&j, rows[i].json);
                assert_int_equal(cay_json_end(&j), rows[i].wrong ? -EPROTO : 0);
                assert_string_equal(check.wrong, rows[i].wrong ? rows[i].wrong : "");
        }
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_every_op), cmocka_unit_test(test_check) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
