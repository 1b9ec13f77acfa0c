/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of a screen at a scale. */
#include "domain/desktop/picture.h"

#include <string.h>

static unsigned scaled(unsigned side, unsigned scale_milli)
{
        unsigned v = (unsigned)(((uint64_t)side * scale_milli + CAY_PICTURE_SCALE_ONE / 2) /
                                CAY_PICTURE_SCALE_ONE);

        return v > 0 ? v : 1;
}

struct cay_picture cay_picture_of(unsigned screen_width, unsigned screen_height, unsigned scale_milli)
{
        return (struct cay_picture){ .screen_width = screen_width,
                                     .screen_height = screen_height,
                                     .width = scaled(screen_width, scale_milli),
                                     .height = scaled(screen_height, scale_milli) };
}

int cay_picture_point(const struct cay_picture *p, uint64_t x, uint64_t y, unsigned *ret_x, unsigned *ret_y,
                      struct cay_error *err)
{
        if (x >= p->width)
                return cay_fail(err, CAY_INVALID,
                                "x: %llu is outside of the picture, which is %u pixels wide",
                                (unsigned long long)x, p->width);
        if (y >= p->height)
                return cay_fail(err, CAY_INVALID,
                                "y: %llu is outside of the picture, which is %u pixels high",
                                (unsigned long long)y, p->height);
        *ret_x = (unsigned)((2 * x + 1) * p->screen_width / (2 * (uint64_t)p->width));
        *ret_y = (unsigned)((2 * y + 1) * p->screen_height / (2 * (uint64_t)p->height));
        return 0;
}

void cay_picture_back(const struct cay_picture *p, unsigned x, unsigned y, unsigned *ret_x, unsigned *ret_y)
{
        *ret_x = (unsigned)((2 * (uint64_t)x + 1) * p->width / (2 * (uint64_t)p->screen_width));
        *ret_y = (unsigned)((2 * (uint64_t)y + 1) * p->height / (2 * (uint64_t)p->screen_height));
}

static void copy_row(const struct cay_picture *p, const uint8_t *pixels, unsigned y, uint8_t *ret)
{
        const uint8_t *from = pixels + (size_t)y * p->screen_width * 4;

        for (unsigned x = 0; x < p->width; x++, from += 4, ret += 3) {
                ret[0] = from[2];
                ret[1] = from[1];
                ret[2] = from[0];
        }
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
        return a < b ? a : b;
}

/*
 * How much of pixel `at` of a side of `from` pixels is in pixel `to_at` of a side of `to` pixels: in units of
 * 1/to.
 */
static uint64_t overlap(uint64_t at, uint64_t to, uint64_t to_at, uint64_t from)
{
        uint64_t begin = at * to, end = begin + to, to_begin = to_at * from, to_end = to_begin + from;

        return smaller(end, to_end) - (begin > to_begin ? begin : to_begin);
}

void cay_picture_row(const struct cay_picture *p, const uint8_t *pixels, unsigned y, uint8_t *ret)
{
        uint64_t W = p->screen_width, H = p->screen_height, w = p->width, h = p->height;
        uint64_t first_y = y * H / h, last_y = ((y + 1) * H - 1) / h, whole = W * H;

        if (W == w && H == h) {
                copy_row(p, pixels, y, ret);
                return;
        }
        for (uint64_t x = 0; x < w; x++, ret += 3) {
                uint64_t first_x = x * W / w, last_x = ((x + 1) * W - 1) / w;
                uint64_t sum[3] = { whole / 2, whole / 2, whole / 2 };

                for (uint64_t sy = first_y; sy <= last_y; sy++) {
                        uint64_t rows = overlap(sy, h, y, H);
                        const uint8_t *from = pixels + (sy * W + first_x) * 4;

                        for (uint64_t sx = first_x; sx <= last_x; sx++, from += 4) {
                                uint64_t weight = rows * overlap(sx, w, x, W);

                                sum[0] += weight * from[2];
                                sum[1] += weight * from[1];
                                sum[2] += weight * from[0];
                        }
                }
                for (unsigned i = 0; i < 3; i++)
                        ret[i] = (uint8_t)(sum[i] / whole);
        }
}

/* All rows of the screen that both stand for are the same. */
bool cay_picture_repeats(const struct cay_picture *p, const uint8_t *pixels, unsigned y)
{
        uint64_t H = p->screen_height, h = p->height, last = ((y + 1) * H - 1) / h;
        size_t bytes = (size_t)p->screen_width * 4;

        for (uint64_t sy = (y - 1) * H / h + 1; sy <= last; sy++)
                if (memcmp(pixels + sy * bytes, pixels + (sy - 1) * bytes, bytes) != 0)
                        return false;
        return true;
}
