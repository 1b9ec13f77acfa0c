/* SPDX-License-Identifier: Apache-2.0 */
/* Flat values: byte order, whole or nothing, failure that sticks. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "foundation/base/bytes.h"

static void test_round_trip(void **state)
{
        uint8_t mem[64];
        struct cay_bytes_writer w;
        struct cay_bytes_reader r;
        struct cay_view v;
        size_t len;

        cay_writer_init(&w, mem, sizeof(mem));
        cay_put_u8(&w, 0xab);
        cay_put_u16(&w, 0x1234);
        cay_put_u32(&w, 0xdeadbeef);
        cay_put_u64(&w, UINT64_C(0x0102030405060708));
        cay_put_str(&w, "name", 4);
        cay_put_str(&w, NULL, 0);
        cay_put_raw(&w, "raw", 3);
        assert_true(w.ok);
        len = (size_t)(w.at - mem);
        assert_int_equal(len, 1 + 2 + 4 + 8 + 8 + 4 + 3);
        assert_memory_equal(mem, "\xab\x34\x12\xef\xbe\xad\xde\x08\x07", 9);

        cay_reader_init(&r, mem, len);
        assert_int_equal(cay_get_u8(&r), 0xab);
        assert_int_equal(cay_get_u16(&r), 0x1234);
        assert_int_equal(cay_get_u32(&r), 0xdeadbeef);
        assert_true(cay_get_u64(&r) == UINT64_C(0x0102030405060708));
        v = cay_get_str(&r, 4);
        assert_int_equal(v.len, 4);
        assert_memory_equal(v.ptr, "name", 4);
        v = cay_get_str(&r, 0);
        assert_int_equal(v.len, 0);
        assert_non_null(v.ptr);
        assert_false(cay_reader_is_done(&r));
        assert_memory_equal(cay_get_raw(&r, 3), "raw", 3);
        assert_true(cay_reader_is_done(&r));
}

static void test_writer_sticks(void **state)
{
        uint8_t mem[6] = { 9, 9, 9, 9, 9, 9 };
        struct cay_bytes_writer w;

        cay_writer_init(&w, mem, 5);
        cay_put_u32(&w, 0);
        assert_true(w.ok);
        cay_put_u16(&w, 0xffff); /* one byte too long: nothing of it is written */
        assert_false(w.ok);
        cay_put_u8(&w, 7); /* would fit */
        assert_false(w.ok);
        assert_ptr_equal(w.at, mem + 4);
        assert_int_equal(mem[4], 9);
        assert_int_equal(mem[5], 9);
}

static void test_writer_string_is_whole(void **state)
{
        uint8_t mem[7] = { 9, 9, 9, 9, 9, 9, 9 };
        struct cay_bytes_writer w;

        cay_writer_init(&w, mem, sizeof(mem));
        cay_put_str(&w, "abcd", 4);
        assert_false(w.ok);
        assert_ptr_equal(w.at, mem);
        assert_int_equal(mem[0], 9);
        cay_writer_init(&w, mem, sizeof(mem));
        cay_put_str(&w, "abc", 3);
        assert_true(w.ok);
        assert_ptr_equal(w.at, w.end);
        cay_writer_init(&w, mem, 3);
        cay_put_str(&w, "", 0);
        assert_false(w.ok);
        cay_writer_init(&w, mem, sizeof(mem));
        cay_put_str(&w, "", SIZE_MAX);
        assert_false(w.ok);
        cay_put_raw(&w, "", SIZE_MAX);
        assert_false(w.ok);
        cay_writer_init(&w, mem, sizeof(mem));
        w.ok = false;
        cay_put_str(&w, "a", 1);
        assert_ptr_equal(w.at, mem);
}

static void test_no_memory_at_all(void **state)
{
        struct cay_bytes_writer w;
        struct cay_bytes_reader r;

        cay_writer_init(&w, NULL, 0);
        cay_put_raw(&w, NULL, 0);
        assert_true(w.ok);
        cay_put_u8(&w, 1);
        assert_false(w.ok);
        cay_reader_init(&r, NULL, 0);
        assert_true(cay_reader_is_done(&r));
        assert_non_null(cay_get_raw(&r, 0));
        assert_int_equal(cay_get_u8(&r), 0);
        assert_false(cay_reader_is_done(&r));
}

static void test_reader_sticks(void **state)
{
        static const uint8_t mem[] = { 1, 2, 3 };
        struct cay_bytes_reader r;

        cay_reader_init(&r, mem, sizeof(mem));
        assert_int_equal(cay_get_u16(&r), 0x0201);
        assert_int_equal(cay_get_u32(&r), 0);
        assert_false(r.ok);
        assert_int_equal(cay_get_u8(&r), 0); /* would be there */
        assert_null(cay_get_raw(&r, 0));
        assert_null(cay_get_raw(&r, SIZE_MAX));
        assert_int_equal(cay_get_str(&r, 10).len, 0);
        assert_non_null(cay_get_str(&r, 10).ptr);
        assert_ptr_equal(r.at, mem + 2);
}

static void expect_bad_str(const void *mem, size_t size, uint32_t max)
{
        struct cay_bytes_reader r;
        struct cay_view v;

        cay_reader_init(&r, mem, size);
        v = cay_get_str(&r, max);
        assert_false(r.ok);
        assert_int_equal(v.len, 0);
        assert_string_equal(v.ptr, "");
}

static void test_reader_bad_strings(void **state)
{
        expect_bad_str("\x03\0\0\0abc", 7, 2);             /* longer than allowed */
        expect_bad_str("\x04\0\0\0abc", 7, 100);           /* longer than there is */
        expect_bad_str("\x03\0\0\0a\0c", 7, 100);          /* a NUL inside */
        expect_bad_str("\x01\0\0\0\0", 5, 100);            /* only a NUL */
        expect_bad_str("\xff\xff\xff\xff", 4, UINT32_MAX); /* the largest length */
        expect_bad_str("\x01\0\0", 3, 100);                /* half a length */
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_round_trip),
                cmocka_unit_test(test_writer_sticks),
                cmocka_unit_test(test_writer_string_is_whole),
                cmocka_unit_test(test_no_memory_at_all),
                cmocka_unit_test(test_reader_sticks),
                cmocka_unit_test(test_reader_bad_strings),
        };

        return cmocka_run_group_tests_name("base/bytes", tests, NULL, NULL);
}
