/* SPDX-License-Identifier: Apache-2.0 */
/* What a template brings to a request, and what it does not let it have. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "domain/ops/template_use.h"

static struct cay_field_pair template_env[] = { { "A", "1" }, { "B", "2" } };
static const struct cay_template rows[] = {
        { .name = "near",
          .network = "none",
          .init = "cay",
          .available = true,
          .env = { template_env, 2 },
          .limits = { .memory_bytes = 256u << 20, .pids = 50, .wall_ms = 60000 } },
        { .name = "far", .network = "bridge", .init = "cay", .available = true },
        { .name = "gone", .network = "none", .init = "cay", .why = "it is gone" },
};
static const struct cay_template_set set = { .rows = rows, .count = CAY_COUNT(rows) };
static struct cay_templates templates = { .set = &set };
static const struct cay_op_world world = { .templates = &templates }, bare;

static void finding(void **state)
{
        const struct cay_template *t;
        struct cay_error err = { 0 };

        static const struct cay_template own = { .name = "host", .available = true };
        static const struct cay_template_set with_host = { .rows = &own, .count = 1 };
        static struct cay_templates host_templates = { .set = &with_host };
        static const struct cay_op_world host_world = { .templates = &host_templates };
        const struct cay_op_call call = { .world = &world }, host_call = { .world = &host_world },
                                 bare_call = { .world = &bare };

        assert_int_equal(cay_op_find_template(&call, NULL, &t, &err), 0);
        assert_null(t);
        assert_int_equal(cay_op_find_template(&host_call, NULL, &t, &err), 0);
        assert_ptr_equal(t, &own); /* as if it was named */
        assert_int_equal(cay_op_find_template(&call, "near", &t, &err), 0);
        assert_ptr_equal(t, &rows[0]);
        assert_int_equal(cay_op_find_template(&call, "host", &t, &err), 0);
        assert_null(t); /* always there */
        assert_int_equal(cay_op_find_template(&call, "gone", &t, &err), -1);
        assert_int_equal(err.code, CAY_CONFLICT);
        assert_int_equal(cay_op_find_template(&call, "none", &t, &err), -1);
        assert_int_equal(err.code, CAY_NOT_FOUND);
        assert_non_null(strstr(err.msg, "GET /api/templates"));
        for (unsigned i = 0; i < CAY_OP_DIALECT_COUNT; i++) {
                const struct cay_op_call other = { .world = &world, .dialect = (enum cay_op_dialect)i };

                assert_int_equal(cay_op_find_template(&other, "none", &t, &err), -1);
                assert_non_null(strstr(err.msg, "'none' does not exist"));
                assert_null(strstr(err.msg, "(null)"));
        }
        assert_int_equal(cay_op_find_template(&bare_call, "none", &t, &err), 0); /* the service decides */
        assert_null(t);
}

static int init(const char *own, const char *asked, const char *expected)
{
        const struct cay_template t = { .name = "t", .init = own ? own : "" };
        struct cay_error err = { 0 };
        const char *got = NULL;

        if (cay_op_template_init(own ? &t : NULL, asked, &got, &err) < 0)
                return (int)err.code;
        assert_string_equal(got, expected);
        return 0;
}

static void an_init_can_be_left_out_not_put_in(void **state)
{
        assert_int_equal(init(NULL, NULL, "cay"), 0);
        assert_int_equal(init(NULL, "none", "none"), 0);
        assert_int_equal(init("cay", "none", "none"), 0);
        assert_int_equal(init("none", NULL, "none"), 0);
        assert_int_equal(init("none", "cay", NULL), CAY_DENIED);
        assert_int_equal(init("cay", "tini", NULL), CAY_INVALID);
}

static void limits_of_the_request_come_first(void **state)
{
        struct cay_limits l = { .memory_bytes = 1u << 30 };

        cay_op_template_limits(&rows[0], &l);
        assert_int_equal(l.memory_bytes, 1u << 30);
        assert_int_equal(l.pids, 50);
        assert_int_equal(l.wall_ms, 60000);
        assert_int_equal(l.disk_bytes, 0); /* then the configuration's */
        l = (struct cay_limits){ 0 };
        cay_op_template_limits(NULL, &l);
        assert_int_equal(l.pids, 0);
}

static void variables_of_the_request_win(void **state)
{
        struct cay_field_pair own[] = { { "B", "mine" }, { "C", "3" } }, pairs[CAY_SERVICE_PAIRS_MAX],
                              many[CAY_SERVICE_PAIRS_MAX];
        struct cay_field_map map = { own, 2 }, ret;
        struct cay_error err = { 0 };

        assert_int_equal(cay_op_template_env(&rows[0], &map, pairs, &ret, &err), 0);
        assert_int_equal(ret.count, 3);
        assert_string_equal(ret.pairs[0].name, "A");
        assert_string_equal(ret.pairs[1].value, "mine");
        assert_string_equal(ret.pairs[2].name, "C");
        assert_int_equal(cay_op_template_env(NULL, &map, pairs, &ret, &err), 0);
        assert_ptr_equal(ret.pairs, own);
        for (unsigned i = 0; i < CAY_SERVICE_PAIRS_MAX; i++)
                many[i] = (struct cay_field_pair){ "X", "y" };
        map = (struct cay_field_map){ many, CAY_SERVICE_PAIRS_MAX };
        assert_int_equal(cay_op_template_env(&rows[0], &map, pairs, &ret, &err), -1);
        assert_int_equal(err.code, CAY_INVALID);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(finding),
                cmocka_unit_test(an_init_can_be_left_out_not_put_in),
                cmocka_unit_test(limits_of_the_request_come_first),
                cmocka_unit_test(variables_of_the_request_win),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
