/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which lines of one text became which of another. Pure: texts in memory, a list of edits out. The list is
 * always correct (it turns the first text into the second) and as short as possible while that is affordable.
 * The effort is bounded by the texts' size, not by their difference; beyond the limits below the whole middle
 * is one edit.
 */
#pragma once

#include <stdint.h>

#include "foundation/base/banned.h"
#include "foundation/base/cleanup.h"

#define CAY_LINES_MAX (2u * 1024 * 1024) /* in one text; more: replaced as a whole */

struct cay_text {
        const char *bytes; /* borrowed */
        size_t len;
        uint32_t *starts; /* owned: where each line begins, and one more: len */
        uint32_t lines;
};

struct cay_edit { /* lines of the first text replaced by lines of the second; one of the counts may be 0 */
        uint32_t a_at, a_count;
        uint32_t b_at, b_count;
};

struct cay_edits {
        struct cay_edit *list; /* owned */
        size_t count;
        uint64_t removed, added; /* lines, all together */
};

/* A line ends with its newline; the last one may have none. len is at most 2 GiB. 0 or -ENOMEM, -E2BIG. */
int cay_text_init(struct cay_text *t, const void *bytes, size_t len);
void cay_text_done(struct cay_text *t);
/* 0 or -ENOMEM. */
int cay_line_diff(const struct cay_text *a, const struct cay_text *b, struct cay_edits *ret);
void cay_edits_done(struct cay_edits *e);
