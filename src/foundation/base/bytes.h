/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading and writing little-endian values in flat memory, with a sticky failure: after the first value that
 * does not fit, every further call is a no-op and `ok` is false. Strings are u32 length + bytes, no NUL on
 * the wire; a reader hands out views into the caller's memory.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/banned.h"

struct cay_bytes_writer {
        uint8_t *at, *end;
        bool ok;
};

struct cay_bytes_reader {
        const uint8_t *at, *end;
        bool ok;
};

struct cay_view {
        const char *ptr;
        uint32_t len;
};

void cay_writer_init(struct cay_bytes_writer *w, void *mem, size_t size);
void cay_put_u8(struct cay_bytes_writer *w, uint8_t v);
void cay_put_u16(struct cay_bytes_writer *w, uint16_t v);
void cay_put_u32(struct cay_bytes_writer *w, uint32_t v);
void cay_put_u64(struct cay_bytes_writer *w, uint64_t v);
void cay_put_str(struct cay_bytes_writer *w, const char *s, size_t len);
void cay_put_raw(struct cay_bytes_writer *w, const void *bytes, size_t len);

void cay_reader_init(struct cay_bytes_reader *r, const void *mem, size_t size);
uint8_t cay_get_u8(struct cay_bytes_reader *r);
uint16_t cay_get_u16(struct cay_bytes_reader *r);
uint32_t cay_get_u32(struct cay_bytes_reader *r);
uint64_t cay_get_u64(struct cay_bytes_reader *r);
/* A view of at most `max` bytes without NUL inside; longer, cut or with NUL: not ok. */
struct cay_view cay_get_str(struct cay_bytes_reader *r, uint32_t max);
const void *cay_get_raw(struct cay_bytes_reader *r, size_t len);
bool cay_reader_is_done(const struct cay_bytes_reader *r); /* ok and nothing left over */
