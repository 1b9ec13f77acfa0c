/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/recordings/sealed_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const uint8_t seed[CAY_SEALED_LOG_SEED] = { 1, 2, 3 };
static int dir;

static int set_up(void **state)
{
        char path[] = "/tmp/cay-sealed-XXXXXX";

        assert_non_null(mkdtemp(path));
        *state = strdup(path);
        dir = open(path, O_RDONLY | O_DIRECTORY);
        return 0;
}

static int tear_down(void **state)
{
        unlinkat(dir, "a", 0);
        unlinkat(dir, "b", 0);
        close(dir);
        rmdir(*state);
        free(*state);
        return 0;
}

static unsigned count(const char *name, const uint8_t *key, int *ret)
{
        struct cay_sealed_reader r;
        const uint8_t *bytes;
        unsigned n = 0;
        size_t len;

        *ret = cay_sealed_reader_open(&r, dir, name, key);
        if (*ret < 0)
                return 0;
        while ((*ret = cay_sealed_reader_next(&r, &bytes, &len)) > 0)
                n++;
        cay_sealed_reader_close(&r);
        return n;
}

static void ignore(void *ctx, const uint8_t *bytes, size_t len)
{
        ++*(unsigned *)ctx;
}

static void fill(const char *name)
{
        struct cay_sealed_log l;

        assert_int_equal(cay_sealed_log_create(&l, dir, name, seed), 0);
        assert_int_equal(cay_sealed_log_add(&l, "one", 3), 0);
        assert_int_equal(cay_sealed_log_add(&l, "", 0), 0);
        assert_int_equal(cay_sealed_log_add(&l, "three", 5), 0);
        assert_int_equal(l.entries, 3);
        cay_sealed_log_close(&l);
        cay_sealed_log_close(&l);
}

static void test_read(void **state)
{
        struct cay_sealed_reader r;
        const uint8_t *bytes;
        size_t len;
        struct stat st;

        fill("a");
        assert_int_equal(cay_sealed_reader_open(&r, dir, "a", seed), 0);
        assert_int_equal(cay_sealed_reader_next(&r, &bytes, &len), 1);
        assert_int_equal(len, 3);
        assert_memory_equal(bytes, "one", 3);
        assert_int_equal(cay_sealed_reader_next(&r, &bytes, &len), 1);
        assert_int_equal(len, 0);
        assert_int_equal(cay_sealed_reader_next(&r, &bytes, &len), 1);
        assert_memory_equal(bytes, "three", 5);
        assert_int_equal(cay_sealed_reader_next(&r, &bytes, &len), 0);
        cay_sealed_reader_close(&r);
        assert_int_equal(fstatat(dir, "a", &st, 0), 0);
        assert_int_equal(st.st_mode & 0777, 0600);
}

/* Another seed or another name opens nothing; a changed bit anywhere behind the head is told. */
static void test_bound(void **state)
{
        const uint8_t other[CAY_SEALED_LOG_SEED] = { 9 };
        struct stat st;
        uint8_t byte;
        int fd, r;

        fill("a");
        assert_int_equal(count("a", other, &r), 0);
        assert_int_equal(r, -EBADMSG);
        assert_int_equal(linkat(dir, "a", dir, "b", 0), 0);
        assert_int_equal(count("b", seed, &r), 0);
        assert_int_equal(r, -EBADMSG);
        fd = openat(dir, "a", O_RDWR);
        assert_int_equal(fstat(fd, &st), 0);
        for (off_t at = 8; at < st.st_size; at++) {
                assert_int_equal(pread(fd, &byte, 1, at), 1);
                byte ^= 1;
                assert_int_equal(pwrite(fd, &byte, 1, at), 1);
                assert_true(count("a", seed, &r) < 3); /* damage, or a length that reaches beyond the end */
                byte ^= 1;
                assert_int_equal(pwrite(fd, &byte, 1, at), 1);
        }
        assert_int_equal(count("a", seed, &r), 3);
        close(fd);
}

/* What a death left of an entry is dropped, and the next one is written in its place. */
static void test_torn(void **state)
{
        struct cay_sealed_log l;
        unsigned seen = 0;
        struct stat st;
        int fd, r;

        fill("a");
        fd = openat(dir, "a", O_RDWR);
        assert_int_equal(fstat(fd, &st), 0);
        assert_int_equal(ftruncate(fd, st.st_size - 1), 0);
        close(fd);
        assert_int_equal(cay_sealed_log_open(&l, dir, "a", seed, ignore, &seen), 0);
        assert_int_equal(seen, 2);
        assert_int_equal(l.entries, 2);
        assert_int_equal(cay_sealed_log_add(&l, "new", 3), 0);
        cay_sealed_log_close(&l);
        assert_int_equal(count("a", seed, &r), 3);
        assert_int_equal(r, 0);
}

static void test_limits(void **state)
{
        uint8_t *large = calloc(1, CAY_SEALED_LOG_ENTRY_MAX + 1);
        struct cay_sealed_log l;
        unsigned seen = 0;
        int r;

        assert_int_equal(cay_sealed_log_open(&l, dir, "a", seed, ignore, &seen), -ENOENT);
        assert_int_equal(cay_sealed_log_create(&l, dir, "a", seed), 0);
        assert_int_equal(cay_sealed_log_add(&l, large, CAY_SEALED_LOG_ENTRY_MAX + 1), -EFBIG);
        assert_int_equal(cay_sealed_log_add(&l, large, CAY_SEALED_LOG_ENTRY_MAX), 0);
        cay_sealed_log_close(&l);
        assert_int_equal(count("a", seed, &r), 1);
        free(large);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test_setup_teardown(test_read, set_up, tear_down),
                                            cmocka_unit_test_setup_teardown(test_bound, set_up, tear_down),
                                            cmocka_unit_test_setup_teardown(test_torn, set_up, tear_down),
                                            cmocka_unit_test_setup_teardown(test_limits, set_up, tear_down) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
