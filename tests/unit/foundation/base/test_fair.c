/* SPDX-License-Identifier: Apache-2.0 */
/* Places that owners share: whoever comes last still finds one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "foundation/base/fair.h"

static void test_one_owner(void **state)
{
        unsigned own = 0;

        while (cay_fair_has_room(256, 1000, own, own))
                own++;
        assert_int_equal(own, 128);
        assert_true(cay_fair_has_room(256, 128, 127, 127));
        assert_false(cay_fair_has_room(256, 20, 20, 20));
        (void)state;
}

/* Each takes all that it is given: everybody gets something until the table is all but full. */
static void test_many_owners(void **state)
{
        unsigned all = 0, owners = 0;

        for (;; owners++) {
                unsigned own = 0;

                while (cay_fair_has_room(256, 64, all, own)) {
                        own++;
                        all++;
                }
                if (own == 0)
                        break;
        }
        assert_true(owners > 8);
        assert_int_equal(all, 256);
        assert_false(
                cay_fair_has_room(256, 64, 300, 0)); /* more than there are: a table that was larger once */
        (void)state;
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_one_owner),
                cmocka_unit_test(test_many_owners),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
