/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One entry of a recording: what was asked of a sandbox, or what came of it. Its kind says what its numbers
 * and texts are (item_kinds.def).
 *
 * Encoding: kind (1 byte), the milliseconds since the recording began (8), the count of numbers (1), the
 * numbers (8 each), the count of texts (4), and each text as its length (4), its bytes and a NUL.
 * Little-endian.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/buf.h"
#include "foundation/base/bytes.h"

enum cay_item_kind {
        CAY_ITEM_NONE,
#define CAY_ITEM_KIND(name, numbers, texts, doc) CAY_ITEM_##name,
#include "domain/recordings/item_kinds.def"
#undef CAY_ITEM_KIND
        CAY_ITEM_KIND_COUNT
};

#define CAY_ITEM_NUMBERS_MAX 10u
#define CAY_ITEM_TEXTS_MAX 20000u /* words and variables of a command */

struct cay_item { /* texts point into what was decoded */
        enum cay_item_kind kind;
        uint64_t at_ms;
        uint64_t numbers[CAY_ITEM_NUMBERS_MAX]; /* those that are not there are 0 */
        uint32_t text_count;
        const uint8_t *texts, *end;
};

void cay_item_begin(struct cay_buf *out, enum cay_item_kind kind, uint64_t at_ms, const uint64_t *numbers,
                    unsigned count);
/* How many texts follow, all of them. */
void cay_item_put_count(struct cay_buf *out, uint32_t count);
void cay_item_put_text(struct cay_buf *out, const void *text, size_t len);
void cay_item_put_word(struct cay_buf *out, const char *word); /* NULL: "" */

/* 0, or -EBADMSG: it is none; the counts are those of its kind at least. */
int cay_item_decode(const void *bytes, size_t len, struct cay_item *ret);
/* Takes its next text, which a NUL follows. False: there is none. */
bool cay_item_next(struct cay_item *item, struct cay_view *ret);
const char *cay_item_word(struct cay_item *item); /* the same of one without NULs; "": there is none */
