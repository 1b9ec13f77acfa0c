/* SPDX-License-Identifier: Apache-2.0 */
/* A file changed before the tick is older than it, one changed after it is not. */
#include "changes_test.h"

#include <time.h>

#include "cay/changes/tick.h"

static int64_t ctime_of(const char *path)
{
        struct cay_change_base b;
        struct stat st;

        assert_int_equal(lstat(path, &st), 0);
        cay_change_base_of(&st, &b);
        return b.ctime_ns;
}

static void files_are_before_or_behind_it(void **state)
{
        (void)state;
        for (unsigned i = 0; i < 100; i++) {
                int64_t began;

                put("f/a", "x");
                began = cay_tick_await();
                put("f/b", "x");
                assert_true(ctime_of("f/a") < began);
                assert_true(ctime_of("f/b") >= began);
                assert_int_equal(unlink("f/a"), 0);
                assert_int_equal(unlink("f/b"), 0);
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = { CHANGES_TEST(files_are_before_or_behind_it) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
