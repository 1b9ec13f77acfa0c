/* SPDX-License-Identifier: Apache-2.0 */
/* Words of an image's states: one each, none of them twice. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "domain/model/image.h"

static void test_words(void **state)
{
        (void)state;
        assert_string_equal(cay_image_state_word(CAY_IMAGE_STATE_NONE), "none");
        assert_string_equal(cay_image_state_word(CAY_IMAGE_STATE_STALE), "stale");
        assert_string_equal(cay_image_state_word((enum cay_image_state)99), "none");
        for (unsigned i = 0; i < CAY_IMAGE_STATE_COUNT; i++)
                for (unsigned k = 0; k < i; k++)
                        assert_string_not_equal(cay_image_state_word((enum cay_image_state)i),
                                                cay_image_state_word((enum cay_image_state)k));
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_words) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
