/* SPDX-License-Identifier: Apache-2.0 */
/* A PNG that zlib unpacks again, with good checksums; and what is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

#include "foundation/compress/png.h"

enum { WIDTH = 301, HEIGHT = 67 };

static uint32_t get_u32(const uint8_t *p)
{
        return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static void fill_row(uint8_t *row, unsigned y)
{
        for (unsigned i = 0; i < WIDTH * 3; i++)
                row[i] = (uint8_t)(y % 3 == 0 ? i * i * 31 + y * 7 : i / 9 + y);
}

/* Some rows are the same as the one before. */
static bool repeats(unsigned y)
{
        return y % 5 == 4;
}

static void a_picture_comes_back(void **state)
{
        static uint8_t packed[1 << 20], raw[HEIGHT * (WIDTH * 3 + 1)], row[WIDTH * 3], above[WIDTH * 3];
        cay_auto_buf struct cay_buf out = { 0 };
        struct cay_png *p;
        const uint8_t *at, *end;
        size_t packed_len = 0;
        uLongf raw_len = sizeof(raw);

        (void)state;
        cay_buf_init(&out, sizeof(packed));
        p = cay_png_new(WIDTH, HEIGHT, &out);
        assert_non_null(p);
        assert_int_equal(cay_png_end(p), -EINVAL); /* no row yet */
        for (unsigned y = 0; y < HEIGHT; y++) {
                fill_row(row, y);
                assert_int_equal(cay_png_row(p, repeats(y) ? NULL : row), 0);
        }
        assert_int_equal(cay_png_row(p, row), -EINVAL);
        assert_int_equal(cay_png_row(p, NULL), -EINVAL);
        assert_int_equal(cay_png_end(p), 0);
        cay_png_free(p);

        at = (const uint8_t *)cay_buf_data(&out);
        end = at + out.len;
        for (at += 8; at < end; at += 12 + get_u32(at)) {
                uint32_t len = get_u32(at);

                assert_int_equal(crc32(0, at + 4, len + 4), get_u32(at + 8 + len));
                if (memcmp(at + 4, "IDAT", 4) == 0) {
                        memcpy(packed + packed_len, at + 8, len);
                        packed_len += len;
                }
        }
        assert_memory_equal(end - 8, "IEND", 4);
        assert_int_equal(uncompress(raw, &raw_len, packed, packed_len), Z_OK);
        assert_int_equal(raw_len, sizeof(raw));
        for (unsigned y = 0; y < HEIGHT; y++) {
                uint8_t *line = raw + y * (WIDTH * 3 + 1);

                for (unsigned i = 0; i < WIDTH * 3; i++)
                        line[1 + i] = (uint8_t)(line[1 + i] + (line[0] == 2 ? above[i]
                                                               : i >= 3     ? line[1 + i - 3]
                                                                            : 0));
                fill_row(row, repeats(y) ? y - 1 : y);
                assert_memory_equal(line + 1, row, sizeof(row));
                memcpy(above, row, sizeof(above));
        }
}

static void a_full_buffer_is_told(void **state)
{
        cay_auto_buf struct cay_buf out = { 0 };
        static uint8_t row[WIDTH * 3];
        struct cay_png *p;
        int r = 0;

        (void)state;
        cay_buf_init(&out, 20);
        assert_null(cay_png_new(WIDTH, HEIGHT, &out));
        cay_buf_done(&out);
        cay_buf_init(&out, 100);
        p = cay_png_new(WIDTH, HEIGHT, &out);
        assert_non_null(p);
        for (unsigned y = 0; y < HEIGHT && r == 0; y++) {
                fill_row(row, y);
                r = cay_png_row(p, row);
        }
        assert_int_equal(r < 0 ? r : cay_png_end(p), -ENOSPC);
        cay_png_free(p);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(a_picture_comes_back),
                cmocka_unit_test(a_full_buffer_is_told),
        };

        return cmocka_run_group_tests_name("compress/png", tests, NULL, NULL);
}
