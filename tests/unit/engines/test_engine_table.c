/* SPDX-License-Identifier: Apache-2.0 */
/* engines.def: every row is found, complete and unlike the others; the first one isolates. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "engines/engine_table.h"

static void rows_are_complete(void **state)
{
        unsigned count = 0;

        for (const struct cay_engine_ops *ops; (ops = cay_engine_at(count)) != NULL; count++) {
                assert_ptr_equal(cay_engine_find(ops->name), ops);
                assert_true(ops->open && ops->close && ops->can_hold && ops->create && ops->relink &&
                            ops->freeze);
                assert_true(ops->thaw && ops->stats && ops->destroy && ops->on_gone && ops->list &&
                            ops->trace);
        }
        assert_int_equal(count, 3);
        assert_null(cay_engine_find("imaginary"));
        assert_null(cay_engine_find(""));
        assert_null(cay_engine_at(UINT32_MAX));
}

static void the_default_isolates(void **state)
{
        assert_int_equal(cay_engine_at(0)->lacks, 0);
        assert_true(cay_engine_find("process")->lacks & CAY_ENGINE_LACKS_ISOLATION);
}

static void names_fit_or_are_cut(void **state)
{
        char text[64], tiny[9];

        assert_string_equal(cay_engine_names(text, sizeof(text)), "native, docker, process");
        assert_true(strlen(cay_engine_names(tiny, sizeof(tiny))) < sizeof(tiny));
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(rows_are_complete),
                cmocka_unit_test(the_default_isolates),
                cmocka_unit_test(names_fit_or_are_cut),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
