/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON text into a buffer, value by value, no tree. Commas and colons follow from the state. Failure is sticky:
 * after the first one (buffer full, nesting too deep, a call that has no place here) nothing more is written and
 * cay_json_end tells. What is in the buffer is valid UTF-8 at any time, and complete JSON when cay_json_end gives 0.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/buf.h"

#define CAY_JSON_DEPTH_MAX 32

struct cay_json {
        struct cay_buf *out; /* borrowed */
        uint32_t is_object;  /* one bit per open level, the innermost lowest */
        uint32_t has_items;
        unsigned depth;
        bool has_key;  /* a key waits for its value */
        bool has_root; /* the one outermost value is there */
        int failed;    /* first failure, -errno */
};

void cay_json_init(struct cay_json *j, struct cay_buf *out);
void cay_json_begin_object(struct cay_json *j);
void cay_json_end_object(struct cay_json *j);
void cay_json_begin_array(struct cay_json *j);
void cay_json_end_array(struct cay_json *j);
void cay_json_key(struct cay_json *j, const char *key);
void cay_json_string(struct cay_json *j, const char *s,
                     size_t len);                      /* each byte that is not UTF-8 becomes U+FFFD */
void cay_json_text(struct cay_json *j, const char *s); /* the same for a C string; NULL gives null */
void cay_json_u64(struct cay_json *j, uint64_t v);
void cay_json_i64(struct cay_json *j, int64_t v);
void cay_json_bool(struct cay_json *j, bool v);
void cay_json_null(struct cay_json *j);
int cay_json_end(
        struct cay_json *j); /* 0: one whole value; -ENOSPC, -ENOMEM, -E2BIG (too deep), -EINVAL (misuse) */
