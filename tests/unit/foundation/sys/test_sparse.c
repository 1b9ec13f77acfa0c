/* SPDX-License-Identifier: Apache-2.0 */
/* Zeros take no room, and all bytes come back, however they were cut. */
#include "sys_test.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "foundation/sys/sparse.h"

static int scratch_file(void)
{
        char path[] = "/dev/shm/cay-sparse.XXXXXX";
        int fd = mkostemp(path, O_CLOEXEC);

        assert_true(fd >= 0);
        unlink(path);
        return fd;
}

static void zeros_take_no_room(void **state)
{
        static char zeros[1 << 20];
        int fd = scratch_file();
        struct stat st;

        (void)state;
        assert_int_equal(sys_sparse_write(fd, "x", 1), 0);
        for (int i = 0; i < 64; i++)
                assert_int_equal(sys_sparse_write(fd, zeros, sizeof(zeros)), 0);
        assert_int_equal(sys_sparse_end(fd), 0);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(st.st_size, 64 * (1 << 20) + 1);
        assert_true(st.st_blocks * 512 <= 2 << 20);
        close(fd);
}

static void every_byte_comes_back(void **state)
{
        static char bytes[300000], back[sizeof(bytes) + 1];
        unsigned seed = 7;
        struct stat st;
        int fd;

        (void)state;
        for (unsigned round = 0; round < 50; round++) {
                size_t at = 0;

                memset(bytes, 0, sizeof(bytes));
                for (unsigned i = 0; i < round; i++) {
                        seed = seed * 1103515245 + 12345;
                        bytes[(seed >> 8) % sizeof(bytes)] = 'x';
                }
                fd = scratch_file();
                while (at < sizeof(bytes)) {
                        size_t n;

                        seed = seed * 1103515245 + 12345;
                        n = 1 + (seed >> 8) % 20000;
                        if (n > sizeof(bytes) - at)
                                n = sizeof(bytes) - at;
                        assert_int_equal(sys_sparse_write(fd, bytes + at, n), 0);
                        at += n;
                }
                assert_int_equal(sys_sparse_end(fd), 0);
                assert_int_equal(fstat(fd, &st), 0);
                assert_int_equal(st.st_size, sizeof(bytes));
                assert_int_equal(pread(fd, back, sizeof(back), 0), sizeof(bytes));
                assert_memory_equal(back, bytes, sizeof(bytes));
                close(fd);
        }
}

static void a_pipe_gets_all_of_it(void **state)
{
        char back[9000], zeros[8192] = "";
        int fds[2];

        (void)state;
        assert_int_equal(pipe(fds), 0);
        assert_int_equal(sys_sparse_write(fds[1], zeros, sizeof(zeros)), 0);
        assert_int_equal(sys_sparse_end(fds[1]), 0);
        assert_int_equal(read(fds[0], back, sizeof(back)), sizeof(zeros));
        close(fds[0]);
        close(fds[1]);
}

static void data_are_found_between_holes(void **state)
{
        int fd = scratch_file();
        uint64_t at = 0, len = 0;

        (void)state;
        assert_true(fd >= 0);
        assert_int_equal(ftruncate(fd, 1 << 20), 0);
        assert_int_equal(sys_sparse_next(fd, 0, 1 << 20, &at, &len), 0);
        assert_int_equal(pwrite(fd, "x", 1, 65536), 1);
        assert_int_equal(sys_sparse_next(fd, 0, 1 << 20, &at, &len), 1);
        assert_true(at == 65536 && len >= 1 && len <= 65536);
        assert_int_equal(sys_sparse_next(fd, at + len, 1 << 20, &at, &len), 0);
        assert_int_equal(sys_sparse_next(fd, 0, 65540, &at, &len), 1); /* cut where the caller ends */
        assert_int_equal(len, 4);
        assert_int_equal(sys_sparse_next(fd, 0, 65536, &at, &len), 0);
        close(fd);
        assert_int_equal(sys_sparse_next(fd, 0, 1, &at, &len), -EBADF);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(zeros_take_no_room),
                cmocka_unit_test(every_byte_comes_back),
                cmocka_unit_test(a_pipe_gets_all_of_it),
                cmocka_unit_test(data_are_found_between_holes),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
