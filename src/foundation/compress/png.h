/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes a PNG, row by row: 8 bits each of red, green and blue. So that a large picture does not hold up
 * others, the owner decides how many rows it writes at once.
 */
#pragma once

#include <stdint.h>

#include "foundation/base/buf.h"

struct cay_png;

/* Appends to `out`, which is borrowed until it is freed. NULL: no memory, or `out` is full. */
struct cay_png *cay_png_new(unsigned width, unsigned height, struct cay_buf *out);
/*
 * width × 3 bytes; NULL: the row is as the one before it, which takes a fraction of the time. 0, -ENOSPC,
 * -EINVAL: there are no more rows
 */
int cay_png_row(struct cay_png *p, const uint8_t *rgb);
int cay_png_end(struct cay_png *p);   /* after the last row. 0, -ENOSPC, -EINVAL: rows are missing */
void cay_png_free(struct cay_png *p); /* NULL is fine */
