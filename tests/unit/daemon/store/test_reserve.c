/* SPDX-License-Identifier: Apache-2.0 */
/* The reserve: blocks that are held, given and taken back. */

#include "unit/daemon/store/store_test.h"

#include "daemon/store/reserve.h"

static blkcnt_t blocks(int fd)
{
        struct stat st;

        assert_int_equal(fstat(fd, &st), 0);
        return st.st_blocks;
}

static void taken_given_and_taken_again(void **state)
{
        struct fixture f;
        struct cay_reserve r;
        int dirfd_;

        set_up(&f);
        dirfd_ = open(f.folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        cay_reserve_open(&r, dirfd_, "r");
        assert_false(cay_reserve_give(&r)); /* there is nothing to give */
        cay_reserve_take(&r, 1000);
        assert_true(r.is_held);
        assert_true(blocks(r.fd) * 512 >= CAY_RESERVE_BYTES);
        assert_true(cay_reserve_give(&r));
        assert_int_equal(blocks(r.fd), 0);
        assert_false(cay_reserve_give(&r));
        cay_reserve_take(&r, 2000); /* too soon */
        assert_false(r.is_held);
        cay_reserve_take(&r, 6001);
        assert_true(r.is_held);
        cay_reserve_close(&r);
        cay_reserve_close(&r);
        close(dirfd_);
        tear_down(&f);
}

static void without_a_file_it_does_nothing(void **state)
{
        struct cay_reserve r;

        cay_reserve_open(&r, -1, "r");
        cay_reserve_take(&r, 1);
        assert_false(r.is_held);
        assert_false(cay_reserve_give(&r));
        cay_reserve_close(&r);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(taken_given_and_taken_again),
                cmocka_unit_test(without_a_file_it_does_nothing),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
