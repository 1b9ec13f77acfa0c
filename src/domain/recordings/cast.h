/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A terminal's recording as asciicast v2: a line of JSON with its size, then a line for each change:
 * [seconds, "o", text], or [seconds, "r", "COLSxROWS"] where the terminal got a new size. A character whose
 * bytes come in two pieces is told with the second one.
 */
#pragma once

#include "foundation/base/buf.h"

struct cay_cast {         /* zeroed */
        uint64_t from_ms; /* of its begin, in the recording */
        char part[4];     /* the beginning of a character */
        unsigned part_len;
};

struct cay_cast_head {
        uint64_t rows, cols, wall_ms; /* when it began */
        const char *title, *term;
};

/* Each appends one line. 0 or -errno of the buffer. */
int cay_cast_head(const struct cay_cast_head *h, struct cay_buf *out);
int cay_cast_output(struct cay_cast *c, uint64_t at_ms, const char *bytes, size_t len, struct cay_buf *out);
int cay_cast_resize(struct cay_cast *c, uint64_t at_ms, uint64_t rows, uint64_t cols, struct cay_buf *out);
int cay_cast_end(struct cay_cast *c, uint64_t at_ms, struct cay_buf *out); /* what is left of a character */
