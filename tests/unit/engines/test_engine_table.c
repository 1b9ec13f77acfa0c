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
        for (unsigned i = 0; i < CAY_ENGINE_COUNT; i++) {
                const struct cay_engine_info *info = &cay_engine_infos[i];
                const struct cay_engine_ops *ops = cay_engine_ops((enum cay_engine_nr)i);

                assert_string_equal(info->name, ops->name);
                assert_int_equal(info->lacks, ops->lacks);
                assert_int_equal(info->caps & ~((1u << CAY_ENGINE_CAP_COUNT) - 1), 0);
                assert_true(info->helper <= CAY_HELPER_none && strlen(info->doc) > 0);
                assert_int_equal(info->helper == CAY_HELPER_none, info->start == CAY_ENGINE_START_ALWAYS);
                assert_int_equal(cay_engine_list_find(info->name), i);
                assert_ptr_equal(cay_engine_ops_find(info->name), ops);
                assert_non_null(ops->open);
                if (info->start == CAY_ENGINE_START_ALWAYS) /* the rest is the front's alone */
                        continue;
                assert_true(ops->close && ops->can_hold && ops->create && ops->relink && ops->freeze);
                assert_true(ops->thaw && ops->stats && ops->destroy && ops->on_gone && ops->list &&
                            ops->trace);
        }
        assert_null(cay_engine_ops_find("imaginary"));
        assert_null(cay_engine_ops_find(""));
        assert_int_equal(cay_engine_list_find("imaginary"), -1);
}

/* What `auto` may take isolates; what does not is for those who name it. */
static void the_default_isolates(void **state)
{
        assert_int_equal(cay_engine_infos[0].lacks, 0);
        for (unsigned i = 0; i < CAY_ENGINE_COUNT; i++)
                assert_int_equal(cay_engine_infos[i].start != CAY_ENGINE_START_BY_NAME,
                                 !(cay_engine_infos[i].lacks & CAY_ENGINE_LACKS_ISOLATION));
}

static void names_fit_or_are_cut(void **state)
{
        char text[64], tiny[9];

        assert_string_equal(cay_engine_list_names(text, sizeof(text)), "native, docker, process, remote");
        assert_true(strlen(cay_engine_list_names(tiny, sizeof(tiny))) < sizeof(tiny));
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
