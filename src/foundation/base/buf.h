/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A byte buffer that grows up to a maximum given at birth and never beyond. Appending returns 0, or -ENOSPC
 * (cap) or -ENOMEM or -ENOBUFS (budget) with the content unchanged. Consuming from the front is O(1)
 * amortised. A NUL is kept behind the last byte, so `data` is also a C string.
 *
 * A buffer may be charged to a budget: then what it allocates is taken from there first and given back with
 * the memory. (While it grows there are two copies for a moment, of which one is counted.)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "foundation/base/banned.h"
#include "foundation/base/budget.h"
#include "foundation/base/cleanup.h"

struct cay_buf {
        char *mem;    /* owned */
        size_t start; /* first live byte */
        size_t len;   /* live bytes */
        size_t cap;   /* allocated, without the NUL */
        size_t max;
        struct cay_budget *budget; /* borrowed, outlives it; NULL: none */
};

void cay_buf_init(struct cay_buf *b, size_t max);
/* What it has now is taken with it, and given back where it was charged before; NULL: to nobody. */
void cay_buf_charge(struct cay_buf *b, struct cay_budget *budget);
void cay_buf_done(struct cay_buf *b);            /* frees; safe on a zeroed struct and twice */
void cay_buf_clear(struct cay_buf *b);           /* keeps the memory */
void cay_buf_cut(struct cay_buf *b, size_t len); /* takes back what was appended behind `len` ≤ b->len */
char *cay_buf_data(const struct cay_buf *b);     /* never NULL; valid until the next change */
int cay_buf_put(struct cay_buf *b, const void *bytes, size_t len);
int cay_buf_putc(struct cay_buf *b, char c);
int cay_buf_puts(struct cay_buf *b, const char *s);
int cay_buf_printf(struct cay_buf *b, const char *fmt, ...) CAY_PRINTF(2, 3);
void cay_buf_drop(struct cay_buf *b, size_t len); /* consumes from the front; len ≤ b->len */
/* Makes room for `len` more bytes and returns where to write them (then cay_buf_added), or NULL. */
char *cay_buf_room(struct cay_buf *b, size_t len);
void cay_buf_added(struct cay_buf *b, size_t len);
size_t cay_buf_left(const struct cay_buf *b); /* how much may still be appended */
/* 0, -ENOSPC or -ENOBUFS: what appending `len` bytes would come to now. */
int cay_buf_check(const struct cay_buf *b, size_t len);
#define cay_auto_buf cay_auto(cay_buf_done)
