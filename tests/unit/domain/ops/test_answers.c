/* SPDX-License-Identifier: Apache-2.0 */
/* Every op says what it answers; no name stands twice in a table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "domain/ops/answers.h"

static void check_shape(const struct cay_answer_shape *shape, unsigned depth)
{
        assert_true(depth < 8);
        for (const struct cay_answer_field *f = shape->fields; f->name; f++) {
                bool needs = f->kind == CAY_ANSWER_OBJECT || f->kind == CAY_ANSWER_LIST ||
                             f->kind == CAY_ANSWER_MAP || f->kind == CAY_ANSWER_ALSO;

                assert_int_equal(f->shape != NULL, needs);
                assert_int_equal(f->name[0] == '\0', f->kind == CAY_ANSWER_ALSO);
                for (const struct cay_answer_field *g = shape->fields; g < f; g++)
                        assert_true(f->name[0] == '\0' || strcmp(g->name, f->name) != 0);
                if (f->shape)
                        check_shape(f->shape, depth + 1);
        }
}

static void test_every_op(void **state)
{
        for (unsigned i = 0; i < cay_op_count; i++) {
                const struct cay_answer *a = cay_answer_find(cay_ops[i]->name);

                if (!a)
                        fail_msg("domain/ops/answers.c does not say what %s answers", cay_ops[i]->name);
                assert_true(a->shape || a->bytes || cay_ops[i]->flags & CAY_OP_STREAM);
                if (a->shape)
                        check_shape(a->shape, 0);
        }
        assert_null(cay_answer_find("nothing"));
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_every_op) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
