/* SPDX-License-Identifier: Apache-2.0 */
/*
 * workers.def: every kind but EXEC and ACCEPT has exactly one row, with streams that the protocol's table
 * knows.
 */
#include <stdarg.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "cay-init/worker.h"

static void every_kind_has_a_worker(void **state)
{
        for (unsigned kind = 0; kind < CAY_BOX_KIND_COUNT; kind++) {
                const struct cay_worker *w = cay_worker_find(kind);

                if (kind == CAY_BOX_NONE || kind == CAY_BOX_EXEC || kind == CAY_BOX_ACCEPT) {
                        assert_null(w);
                        continue;
                }
                assert_non_null(w);
                assert_non_null(w->run);
        }
        assert_null(cay_worker_find(CAY_BOX_KIND_COUNT));
        assert_null(cay_worker_find(UINT32_MAX));
}

static void streams_are_those_of_the_protocol(void **state)
{
        assert_int_equal(cay_worker_find(CAY_BOX_READ)->streams, CAY_WORKER_OUT | CAY_WORKER_BULK);
        assert_int_equal(cay_worker_find(CAY_BOX_WRITE)->streams, CAY_WORKER_IN | CAY_WORKER_BULK);
        assert_int_equal(cay_worker_find(CAY_BOX_STAT)->streams, 0);
        assert_int_equal(cay_worker_find(CAY_BOX_TAR_IN)->streams, CAY_WORKER_IN | CAY_WORKER_BULK);
        assert_int_equal(cay_worker_find(CAY_BOX_TAR_OUT)->streams, CAY_WORKER_OUT | CAY_WORKER_BULK);
        assert_int_equal(cay_worker_find(CAY_BOX_WATCH)->streams, CAY_WORKER_OUT);
        assert_int_equal(cay_worker_find(CAY_BOX_CONNECT)->streams, CAY_WORKER_IN | CAY_WORKER_OUT);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(every_kind_has_a_worker),
                cmocka_unit_test(streams_are_those_of_the_protocol),
        };

        return cmocka_run_group_tests_name("init/worker", tests, NULL, NULL);
}
