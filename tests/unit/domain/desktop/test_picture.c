/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures at a scale: points there and back, and the mean of what a pixel stands for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "foundation/base/cleanup.h"

#include <cmocka.h>

#include "domain/desktop/picture.h"

static void points_go_there_and_back(void **state)
{
        static const unsigned sides[][2] = {
                { 1280, 800 }, { 1366, 768 }, { 201, 4096 }, { 1, 1 }, { 7, 3 }
        };

        (void)state;
        for (unsigned i = 0; i < sizeof(sides) / sizeof(sides[0]); i++)
                for (unsigned scale = CAY_PICTURE_SCALE_MIN; scale <= CAY_PICTURE_SCALE_MAX; scale += 19) {
                        struct cay_picture p = cay_picture_of(sides[i][0], sides[i][1], scale);
                        struct cay_error err = { 0 };
                        unsigned sx, sy, x, y;

                        for (unsigned at = 0; at < p.width || at < p.height; at++) {
                                unsigned want_x = at < p.width ? at : p.width - 1;
                                unsigned want_y = at < p.height ? at : p.height - 1;

                                assert_int_equal(cay_picture_point(&p, want_x, want_y, &sx, &sy, &err), 0);
                                assert_true(sx < sides[i][0] && sy < sides[i][1]);
                                cay_picture_back(&p, sx, sy, &x, &y);
                                assert_int_equal(x, want_x);
                                assert_int_equal(y, want_y);
                        }
                        assert_int_equal(cay_picture_point(&p, p.width, 0, &sx, &sy, &err), -1);
                        assert_int_equal(cay_picture_point(&p, 0, UINT64_MAX, &sx, &sy, &err), -1);
                }
}

static void pixels_are_means(void **state)
{
        /* 4 × 2, B G R 0 */
        static const uint8_t screen[] = { 0, 0, 0,  0, 4, 8, 12, 0, 255, 255, 255, 0, 255, 255, 255, 0,
                                          0, 0, 12, 0, 4, 8, 0,  0, 255, 255, 255, 0, 255, 255, 255, 0 };
        struct cay_picture p = cay_picture_of(4, 2, 500);
        uint8_t row[12];

        (void)state;
        assert_int_equal(p.width, 2);
        assert_int_equal(p.height, 1);
        cay_picture_row(&p, screen, 0, row);
        assert_memory_equal(row, ((uint8_t[]){ 6, 4, 2, 255, 255, 255 }), 6);
        p = cay_picture_of(4, 2, CAY_PICTURE_SCALE_ONE);
        cay_picture_row(&p, screen, 1, row);
        assert_memory_equal(row, ((uint8_t[]){ 12, 0, 0, 0, 8, 4, 255, 255, 255, 255, 255, 255 }), 12);
        p = cay_picture_of(4, 2, 750); /* 3 × 2: pixels are shared */
        assert_int_equal(p.width, 3);
        cay_picture_row(&p, screen, 0, row);
        assert_memory_equal(row, ((uint8_t[]){ 3, 2, 1, 134, 132, 130, 255, 255, 255 }), 9);
}

/*
 * What is said to repeat is the same; where each row is one of the screen, what is the same is said to
 * repeat.
 */
static void rows_repeat(void **state)
{
        static const unsigned scales[] = { 1000, 750, 500, 333, 50 };
        enum { SIDE = 60 };
        static uint8_t screen[SIDE * SIDE * 4], rows[2][SIDE * 3];
        unsigned found = 0;

        (void)state;
        for (unsigned y = 0; y < SIDE; y++)
                memset(screen + y * SIDE * 4, (int)(y < 20 ? 1 : y / 7 + (y % 11 == 0)), SIDE * 4 - 4);
        for (unsigned i = 0; i < CAY_COUNT(scales); i++) {
                struct cay_picture p = cay_picture_of(SIDE, SIDE, scales[i]);

                for (unsigned y = 1; y < p.height; y++) {
                        bool repeats = cay_picture_repeats(&p, screen, y);

                        cay_picture_row(&p, screen, y - 1, rows[0]);
                        cay_picture_row(&p, screen, y, rows[1]);
                        found += repeats;
                        if (repeats || scales[i] == CAY_PICTURE_SCALE_ONE)
                                assert_int_equal(memcmp(rows[0], rows[1], (size_t)p.width * 3) == 0, repeats);
                }
        }
        assert_true(found > 60);
}

int main(void)
{
        const struct CMUnitTest tests[] = {
                cmocka_unit_test(points_go_there_and_back),
                cmocka_unit_test(pixels_are_means),
                cmocka_unit_test(rows_repeat),
        };

        return cmocka_run_group_tests_name("desktop/picture", tests, NULL, NULL);
}
