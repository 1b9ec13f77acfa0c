/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Zip archives: their records, and what does not fit. That other programs read them is a test with real ones
 * (integration, browserbase).
 */
#include "foundation/compress/zip.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <zlib.h>

static uint32_t get32(const uint8_t *at)
{
        return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void test_records(void **state)
{
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_zip z = { 0 };
        const uint8_t *b, *row, *end;

        (void)state;
        cay_buf_init(&out, 4096);
        assert_int_equal(cay_zip_bytes(&z, "x", 1), -EINVAL);
        assert_int_equal(cay_zip_begin(&z, "a.txt", 1700000000, &out), 0);
        assert_int_equal(cay_zip_begin(&z, "b", 0, &out), -EINVAL);
        assert_int_equal(out.len, 35);
        cay_buf_puts(&out, "hello");
        assert_int_equal(cay_zip_bytes(&z, "hel", 3), 0);
        assert_int_equal(cay_zip_bytes(&z, "lo", 2), 0);
        assert_int_equal(cay_zip_finish(&z, &out), -EINVAL);
        assert_int_equal(cay_zip_end(&z, &out), 0);
        assert_int_equal(cay_zip_finish(&z, &out), 0);
        assert_int_equal(z.at, out.len);
        b = (const uint8_t *)cay_buf_data(&out);
        assert_int_equal(get32(b), 0x04034b50);
        assert_int_equal(get32(b + 40), 0x08074b50);
        assert_int_equal(get32(b + 44), crc32(0, (const Bytef *)"hello", 5));
        row = b + 56;
        assert_int_equal(get32(row), 0x02014b50);
        assert_int_equal(get32(row + 20), 5);
        assert_int_equal(get32(row + 42), 0);
        end = b + out.len - 22;
        assert_int_equal(get32(end), 0x06054b50);
        assert_int_equal(get32(end + 12), 51);
        assert_int_equal(get32(end + 16), 56);
        cay_zip_done(&z);
}

static void test_empty(void **state)
{
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_zip z = { 0 };

        (void)state;
        cay_buf_init(&out, 4096);
        assert_int_equal(cay_zip_finish(&z, &out), 0);
        assert_int_equal(out.len, 22);
        cay_zip_done(&z);
}

static void test_limits(void **state)
{
        cay_auto_buf struct cay_buf out = { 0 }, small = { 0 };
        struct cay_zip z = { 0 };
        char name[CAY_ZIP_NAME_MAX + 2];

        (void)state;
        cay_buf_init(&out, 1 << 20);
        cay_buf_init(&small, 20);
        memset(name, 'n', sizeof(name));
        name[sizeof(name) - 1] = '\0';
        assert_int_equal(cay_zip_begin(&z, name, 0, &out), -EINVAL);
        assert_int_equal(cay_zip_begin(&z, "", 0, &out), -EINVAL);
        for (unsigned i = 0; i < CAY_ZIP_FILES_MAX; i++) {
                assert_int_equal(cay_zip_begin(&z, "f", 0, &out), 0);
                assert_int_equal(cay_zip_end(&z, &out), 0);
        }
        assert_int_equal(cay_zip_begin(&z, "f", 0, &out), -E2BIG);
        cay_zip_done(&z);
        assert_int_equal(cay_zip_begin(&z, "f", 0, &small), -ENOSPC);
        z.at = CAY_ZIP_BYTES_MAX;
        assert_int_equal(cay_zip_bytes(&z, "x", 1), -E2BIG);
        cay_zip_done(&z);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_records),
                cmocka_unit_test(test_empty),
                cmocka_unit_test(test_limits),
        };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
