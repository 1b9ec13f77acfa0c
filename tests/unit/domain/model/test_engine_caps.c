/* SPDX-License-Identifier: Apache-2.0 */
/* Capabilities of engines: one bit each, and an error that names the one that is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "domain/model/engine_caps.h"

static const char *const names[] = {
#define CAY_ENGINE_CAP(bit, name, asked) name,
#include "domain/model/engine_caps.def"
#undef CAY_ENGINE_CAP
};

static void every_bit_means_one_thing(void **state)
{
        for (unsigned i = 0; i < CAY_ENGINE_CAP_COUNT; i++) {
                assert_true(strlen(names[i]) > 0);
                for (unsigned k = 0; k < i; k++)
                        assert_string_not_equal(names[i], names[k]);
        }
        assert_int_equal(CAY_ENGINE_CAN_NETWORK_BRIDGE & (CAY_ENGINE_CAN_PORTS | CAY_ENGINE_CAN_VOLUMES), 0);
        assert_int_equal(CAY_ENGINE_CAN_PORTS & CAY_ENGINE_CAN_VOLUMES, 0);
}

static void what_is_missing_is_named(void **state)
{
        const unsigned all = (1u << CAY_ENGINE_CAP_COUNT) - 1;

        for (unsigned i = 0; i < CAY_ENGINE_CAP_COUNT; i++) {
                struct cay_error err = { 0 };
                char wanted[80];

                snprintf(wanted, sizeof(wanted), "the small engine lacks the capability '%s'", names[i]);
                assert_int_equal(cay_engine_caps_check("small", 1u << i, 1u << i, &err), 0);
                assert_int_equal(err.code, CAY_OK);
                assert_int_equal(cay_engine_caps_check("small", all & ~(1u << i), all, &err), -1);
                assert_int_equal(err.code, CAY_UNSUPPORTED);
                assert_non_null(strstr(err.msg, wanted));
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_bit_means_one_thing),
                cmocka_unit_test(what_is_missing_is_named),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
