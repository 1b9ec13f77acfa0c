/* SPDX-License-Identifier: Apache-2.0 */
/* From texts to requests: path, query and body, each kind in its form. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cay/cli/values.h"

struct made {
        struct cay_buf target, body;
        bool has_body;
};

static void make(struct cay_values *v, struct made *m)
{
        struct cay_error err = { 0 };

        cay_buf_init(&m->target, 4096);
        cay_buf_init(&m->body, 4096);
        assert_int_equal(cay_values_format(v, &m->target, &m->body, &m->has_body, &err), 0);
}

static void done(struct cay_values *v, struct made *m)
{
        cay_buf_done(&m->target);
        cay_buf_done(&m->body);
        cay_values_done(v);
}

static void add(struct cay_values *v, const char *name, const char *text)
{
        struct cay_error err = { 0 };

        assert_int_equal(cay_values_add(v, name, name, text, &err), 0);
}

static void bodies(void **state)
{
        struct cay_values v;
        struct made m;

        cay_values_init(&v, cay_cli_op_find("sandbox_create"));
        add(&v, "name", "a\"b");
        add(&v, "labels", "k=v=w");
        add(&v, "labels", "l=");
        add(&v, "limits.memory", "64m");
        add(&v, "read_only", "true");
        add(&v, "name", "second"); /* replaces */
        make(&v, &m);
        assert_true(m.has_body);
        assert_string_equal(cay_buf_data(&m.target), "/api/sandboxes");
        assert_string_equal(cay_buf_data(&m.body),
                            "{\"name\":\"second\",\"labels\":{\"k\":\"v=w\",\"l\":\"\"},"
                            "\"limits\":{\"memory\":\"64m\"},\"read_only\":true}");
        done(&v, &m);
}

static void words_and_paths(void **state)
{
        struct cay_values v;
        struct made m;

        cay_values_init(&v, cay_cli_op_find("exec_run"));
        add(&v, "id", "a/b?");
        add(&v, "command", "echo");
        add(&v, "command", "x y");
        add(&v, "rows", "24");
        make(&v, &m);
        assert_string_equal(cay_buf_data(&m.target), "/api/sandboxes/a%2Fb%3F/execute");
        assert_string_equal(cay_buf_data(&m.body), "{\"command\":[\"echo\",\"x y\"],\"rows\":24}");
        done(&v, &m);
}

static void queries(void **state)
{
        struct cay_values v;
        struct made m;

        cay_values_init(&v, cay_cli_op_find("sandbox_list"));
        add(&v, "label", "a=b&c");
        add(&v, "limit", "5");
        make(&v, &m);
        assert_false(m.has_body);
        assert_string_equal(cay_buf_data(&m.target), "/api/sandboxes?label=a%3Db%26c&limit=5");
        done(&v, &m);
        cay_values_init(&v, cay_cli_op_find("file_write")); /* its body is bytes */
        add(&v, "id", "x");
        add(&v, "path", "/tmp/a b");
        make(&v, &m);
        assert_false(m.has_body);
        assert_string_equal(cay_buf_data(&m.target), "/api/sandboxes/x/files?path=/tmp/a%20b");
        done(&v, &m);
}

static void refuses(void **state)
{
        static const char *const bad[][2] = {
                { "nothing", "x" }, { "limits.nothing", "x" }, { "name.x", "y" },  { "labels", "novalue" },
                { "labels", "=x" }, { "read_only", "yes" },    { "name", "\xff" }, { "limits", "{}" },
        };
        struct cay_values v;
        struct cay_error err = { 0 };
        struct made m;

        cay_values_init(&v, cay_cli_op_find("sandbox_create"));
        for (unsigned i = 0; i < CAY_COUNT(bad); i++) {
                assert_int_equal(cay_values_add(&v, bad[i][0], "--it", bad[i][1], &err), -1);
                assert_int_equal(err.code, CAY_INVALID);
                assert_non_null(strstr(err.msg, "--it"));
        }
        assert_int_equal(v.count, 0);
        cay_values_done(&v);
        cay_values_init(&v, cay_cli_op_find("sandbox_get")); /* the path lacks its field */
        cay_buf_init(&m.target, 100);
        cay_buf_init(&m.body, 100);
        assert_int_equal(cay_values_format(&v, &m.target, &m.body, &m.has_body, &err), -1);
        assert_non_null(strstr(err.msg, "id"));
        done(&v, &m);
}

static void every_op_is_whole(void **state)
{
        unsigned count;
        const struct cay_cli_op *ops = cay_cli_ops(&count);

        assert_true(count > 30);
        for (unsigned i = 0; i < count; i++) {
                const struct cay_cli_op *op = &ops[i];

                assert_true(op->path[0] == '/' && op->doc[0] != '\0' && op->fields != NULL);
                assert_ptr_equal(cay_cli_op_find(op->name), op);
                for (const struct cay_field *f = op->fields; f->name != NULL; f++)
                        assert_true(f->doc != NULL && f->kind > CAY_FIELD_NONE &&
                                    f->kind < CAY_FIELD_KIND_COUNT);
        }
        assert_null(cay_cli_op_find("nothing"));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(bodies),  cmocka_unit_test(words_and_paths),   cmocka_unit_test(queries),
                cmocka_unit_test(refuses), cmocka_unit_test(every_op_is_whole),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
