/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/recordings/item.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void make(struct cay_buf *b)
{
        cay_buf_init(b, 4096);
        cay_item_begin(b, CAY_ITEM_INPUT, 77, (const uint64_t[]){ 1 }, 1);
        cay_item_put_count(b, 2);
        cay_item_put_word(b, "exec");
        cay_item_put_text(b, "a\0b", 3);
}

static void test_there_and_back(void **state)
{
        cay_auto_buf struct cay_buf b = { 0 };
        struct cay_item item;
        struct cay_view text;

        make(&b);
        assert_int_equal(cay_item_decode(cay_buf_data(&b), b.len, &item), 0);
        assert_int_equal(item.kind, CAY_ITEM_INPUT);
        assert_int_equal(item.at_ms, 77);
        assert_int_equal(item.numbers[0], 1);
        assert_string_equal(cay_item_word(&item), "exec");
        assert_true(cay_item_next(&item, &text));
        assert_int_equal(text.len, 3);
        assert_memory_equal(text.ptr, "a\0b", 4);
        assert_false(cay_item_next(&item, &text));
        assert_string_equal(cay_item_word(&item), "");
}

/* Cut anywhere, longer, of another kind, with fewer numbers or texts than its kind has: refused. */
static void test_refused(void **state)
{
        cay_auto_buf struct cay_buf b = { 0 };
        struct cay_item item;

        make(&b);
        for (size_t len = 0; len < b.len; len++)
                assert_true(cay_item_decode(cay_buf_data(&b), len, &item) < 0);
        cay_buf_putc(&b, 0);
        assert_true(cay_item_decode(cay_buf_data(&b), b.len, &item) < 0);
        cay_buf_cut(&b, b.len - 1);
        cay_buf_data(&b)[0] = CAY_ITEM_KIND_COUNT;
        assert_true(cay_item_decode(cay_buf_data(&b), b.len, &item) < 0);
        cay_buf_data(&b)[0] = CAY_ITEM_END; /* has four of each */
        assert_true(cay_item_decode(cay_buf_data(&b), b.len, &item) < 0);
        cay_buf_data(&b)[0] = CAY_ITEM_NONE;
        assert_true(cay_item_decode(cay_buf_data(&b), b.len, &item) < 0);
        cay_buf_data(&b)[0] = CAY_ITEM_INPUT;
        assert_int_equal(cay_item_decode(cay_buf_data(&b), b.len, &item), 0);
}

int main(void)
{
        const struct CMUnitTest tests[] = { cmocka_unit_test(test_there_and_back),
                                            cmocka_unit_test(test_refused) };

        return cmocka_run_group_tests(tests, NULL, NULL);
}
