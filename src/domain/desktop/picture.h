/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A picture of a screen: a part of it, at a scale, as rows of R, G, B; and where a point of such a picture is
 * on the screen. Both use the same sizes, so that a click on what a picture shows hits what was there.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/error.h"

#define CAY_PICTURE_SCALE_ONE 1000u /* scales are thousandths */
#define CAY_PICTURE_SCALE_MIN 50u
#define CAY_PICTURE_SCALE_MAX 1000u

struct cay_picture {
        unsigned screen_width, screen_height;
        unsigned width, height; /* of the picture */
};

/* A screen at a scale: each side is rounded to the nearest pixel, at least 1. */
struct cay_picture cay_picture_of(unsigned screen_width, unsigned screen_height, unsigned scale_milli);
/*
 * The point of the screen that is at the middle of a pixel of the picture. CAY_INVALID: outside of the
 * picture.
 */
int cay_picture_point(const struct cay_picture *p, uint64_t x, uint64_t y, unsigned *ret_x, unsigned *ret_y,
                      struct cay_error *err);
/*
 * Where a point of the screen is in the picture: of a point that cay_picture_point found, the one it was
 * found for.
 */
void cay_picture_back(const struct cay_picture *p, unsigned x, unsigned y, unsigned *ret_x, unsigned *ret_y);
/*
 * One row of the picture: width × {R, G, B}. Every pixel is the mean of the area that it stands for. pixels:
 * the screen's, {B, G, R, 0}.
 */
void cay_picture_row(const struct cay_picture *p, const uint8_t *pixels, unsigned y, uint8_t *ret);
/*
 * Whether a row, not the first one, is the same as the one before it. That takes much less time than to make
 * it.
 */
bool cay_picture_repeats(const struct cay_picture *p, const uint8_t *pixels, unsigned y);
