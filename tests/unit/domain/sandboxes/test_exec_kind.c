/* SPDX-License-Identifier: Apache-2.0 */
/* What commands are for, by the names in their records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "domain/sandboxes/exec_kind.h"
#include "foundation/base/id.h"

static void each_has_its_name(void **state)
{
        (void)state;
        assert_int_equal(cay_exec_kind_of(NULL), CAY_EXEC_PLAIN);
        assert_int_equal(cay_exec_kind_of(""), CAY_EXEC_PLAIN);
        assert_int_equal(cay_exec_kind_of("python"), CAY_EXEC_KERNEL);
        assert_int_equal(cay_exec_kind_of("desktop"), CAY_EXEC_KERNEL);
        assert_int_equal(cay_exec_kind_of(".desktop"), CAY_EXEC_DESKTOP); /* in records of earlier versions */
        assert_int_equal(cay_exec_kind_of(".browser"), CAY_EXEC_BROWSER);
        assert_null(cay_exec_kind_name(CAY_EXEC_PLAIN));
        assert_null(cay_exec_kind_name(CAY_EXEC_KERNEL));
}

static void no_context_can_have_it(void **state)
{
        (void)state;
        for (unsigned i = 0; i < CAY_EXEC_KIND_COUNT; i++) {
                const char *name = cay_exec_kind_name((enum cay_exec_kind)i);

                if (!name)
                        continue;
                assert_int_equal(cay_exec_kind_of(name), i);
                assert_false(cay_id_is_valid(name));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(each_has_its_name),
                cmocka_unit_test(no_context_can_have_it),
        };

        return cmocka_run_group_tests_name("sandboxes/exec_kind", tests, NULL, NULL);
}
