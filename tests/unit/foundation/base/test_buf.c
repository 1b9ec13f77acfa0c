/* SPDX-License-Identifier: Apache-2.0 */
/* The capped buffer: exact fits, refusals that change nothing, the gap at the front. */

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>

#include "foundation/base/buf.h"

/* A refused allocation is a result here, not the end of the program. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
        return "allocator_may_return_null=1";
}

static void test_exact_fit(void **state)
{
        cay_auto_buf struct cay_buf b;

        cay_buf_init(&b, 5);
        assert_string_equal(cay_buf_data(&b), "");
        assert_int_equal(cay_buf_left(&b), 5);
        assert_int_equal(cay_buf_puts(&b, "abc"), 0);
        assert_int_equal(cay_buf_puts(&b, "def"), -ENOSPC);
        assert_string_equal(cay_buf_data(&b), "abc");
        assert_int_equal(cay_buf_puts(&b, "de"), 0);
        assert_int_equal(cay_buf_left(&b), 0);
        assert_int_equal(cay_buf_putc(&b, 'f'), -ENOSPC);
        assert_int_equal(cay_buf_put(&b, NULL, 0), 0);
        assert_int_equal(cay_buf_puts(&b, ""), 0);
        assert_string_equal(cay_buf_data(&b), "abcde");
        assert_int_equal(b.len, 5);
        assert_true(b.cap <= 5);
}

static void test_max_zero(void **state)
{
        cay_auto_buf struct cay_buf b;

        cay_buf_init(&b, 0);
        assert_int_equal(cay_buf_putc(&b, 'x'), -ENOSPC);
        assert_int_equal(cay_buf_puts(&b, ""), 0);
        assert_non_null(cay_buf_room(&b, 0));
        assert_string_equal(cay_buf_data(&b), "");
}

static void test_printf(void **state)
{
        cay_auto_buf struct cay_buf b;

        cay_buf_init(&b, 8);
        assert_int_equal(cay_buf_printf(&b, "%d-%s", 12, "ab"), 0);
        assert_int_equal(cay_buf_printf(&b, "%s", "wxyz"), -ENOSPC);
        assert_string_equal(cay_buf_data(&b), "12-ab");
        assert_int_equal(cay_buf_printf(&b, "%s", ""), 0);
        assert_int_equal(cay_buf_printf(&b, "%s", "xyz"), 0);
        assert_string_equal(cay_buf_data(&b), "12-abxyz");
        assert_int_equal(cay_buf_printf(&b, "%c", '!'), -ENOSPC);
        assert_string_equal(cay_buf_data(&b), "12-abxyz");
}

static void test_front(void **state)
{
        cay_auto_buf struct cay_buf b;

        cay_buf_init(&b, 6);
        assert_int_equal(cay_buf_puts(&b, "abcdef"), 0);
        cay_buf_drop(&b, 0);
        cay_buf_drop(&b, 2);
        assert_string_equal(cay_buf_data(&b), "cdef");
        assert_int_equal(cay_buf_left(&b), 2);
        assert_int_equal(cay_buf_puts(&b, "ghi"), -ENOSPC);
        assert_string_equal(cay_buf_data(&b), "cdef");
        assert_int_equal(cay_buf_puts(&b, "gh"), 0); /* the gap is used */
        assert_string_equal(cay_buf_data(&b), "cdefgh");
        cay_buf_drop(&b, 6);
        assert_int_equal(b.len, 0);
        assert_string_equal(cay_buf_data(&b), "");
        assert_int_equal(cay_buf_puts(&b, "123456"), 0);
        assert_string_equal(cay_buf_data(&b), "123456");
}

static void test_room(void **state)
{
        cay_auto_buf struct cay_buf b;
        char *at;

        cay_buf_init(&b, 100);
        assert_int_equal(cay_buf_puts(&b, "ab"), 0);
        assert_null(cay_buf_room(&b, 99));
        at = cay_buf_room(&b, 98);
        assert_non_null(at);
        memset(at, 'x', 98);
        assert_int_equal(b.len, 2);
        cay_buf_added(&b, 3);
        assert_string_equal(cay_buf_data(&b), "abxxx");
        cay_buf_added(&b, 0);
        assert_int_equal(b.len, 5);
}

static void test_clear_and_done(void **state)
{
        struct cay_buf zeroed = { 0 }, b;

        cay_buf_done(&zeroed);
        cay_buf_done(&zeroed);
        cay_buf_init(&b, 10);
        assert_int_equal(cay_buf_puts(&b, "abc"), 0);
        cay_buf_clear(&b);
        assert_int_equal(b.len, 0);
        assert_true(b.cap > 0);
        assert_string_equal(cay_buf_data(&b), "");
        cay_buf_done(&b);
        cay_buf_done(&b);
        assert_int_equal(cay_buf_puts(&b, "again"), 0); /* the maximum is still there */
        cay_buf_done(&b);
}

static void test_cut(void **state)
{
        struct cay_buf b = { 0 };

        cay_buf_cut(&b, 0);
        cay_buf_init(&b, 10);
        assert_int_equal(cay_buf_puts(&b, "abcdef"), 0);
        cay_buf_drop(&b, 1);
        cay_buf_cut(&b, 3);
        assert_int_equal(b.len, 3);
        assert_string_equal(cay_buf_data(&b), "bcd"); /* also as a string */
        assert_int_equal(cay_buf_puts(&b, "x"), 0);
        assert_string_equal(cay_buf_data(&b), "bcdx");
        cay_buf_done(&b);
}

static void test_no_memory(void **state)
{
        cay_auto_buf struct cay_buf b;

        cay_buf_init(&b, SIZE_MAX);
        assert_int_equal(cay_buf_puts(&b, "kept"), 0);
        assert_null(cay_buf_room(&b, SIZE_MAX));
        assert_null(cay_buf_room(&b, SIZE_MAX - 4));
        assert_null(cay_buf_room(&b, PTRDIFF_MAX - 8));
        assert_string_equal(cay_buf_data(&b), "kept");
        assert_int_equal(cay_buf_puts(&b, "!"), 0);
        assert_string_equal(cay_buf_data(&b), "kept!");
}

/* Against a plain array, with small numbers so that every branch of the gap is met. */
static void test_against_model(void **state)
{
        cay_auto_buf struct cay_buf b;
        char model[200], chunk[40];
        size_t len = 0;
        unsigned seed = 12345;

        cay_buf_init(&b, 150);
        for (unsigned i = 0; i < 200000; i++) {
                size_t n;

                seed = seed * 1103515245 + 12345;
                n = (seed >> 16) % 40;
                if (seed >> 30 & 1) {
                        memset(chunk, (int)('a' + i % 26), n);
                        if (len + n <= 150) {
                                assert_int_equal(cay_buf_put(&b, chunk, n), 0);
                                memcpy(model + len, chunk, n);
                                len += n;
                        } else {
                                assert_int_equal(cay_buf_put(&b, chunk, n), -ENOSPC);
                        }
                } else {
                        n = n < len ? n : len;
                        cay_buf_drop(&b, n);
                        memmove(model, model + n, len - n);
                        len -= n;
                }
                assert_int_equal(b.len, len);
                assert_true(b.cap <= 150);
                assert_memory_equal(cay_buf_data(&b), model, len);
                assert_int_equal(cay_buf_data(&b)[len], '\0');
        }
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(test_exact_fit),     cmocka_unit_test(test_max_zero),
                cmocka_unit_test(test_printf),        cmocka_unit_test(test_front),
                cmocka_unit_test(test_room),          cmocka_unit_test(test_clear_and_done),
                cmocka_unit_test(test_cut),           cmocka_unit_test(test_no_memory),
                cmocka_unit_test(test_against_model),
        };

        return cmocka_run_group_tests_name("base/buf", tests, NULL, NULL);
}
