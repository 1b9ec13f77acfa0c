/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes JSON text into a buffer, value by value, no tree. Commas and colons follow from the state. Failure
 * is sticky: after the first one (buffer full, nesting too deep, a call that has no place here) nothing more
 * is written and cay_json_end tells. What is in the buffer is valid UTF-8 at any time, and complete JSON when
 * cay_json_end gives 0.
 *
 * The same calls can lead to a sink in place of a buffer: it gets the values one by one, and no text is made.
 * So whoever writes values need not know whether they become text (a client far away) or a tree
 * (foundation/json/json_tree.h: a reader in here).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/buf.h"

#define CAY_JSON_DEPTH_MAX 32

enum cay_json_part {
        CAY_JSON_PART_OBJECT, /* begins one */
        CAY_JSON_PART_ARRAY,  /* begins one */
        CAY_JSON_PART_END,    /* of the innermost of these */
        CAY_JSON_PART_KEY,    /* text */
        CAY_JSON_PART_TEXT,   /* text; need not be UTF-8 */
        CAY_JSON_PART_NUMBER, /* number */
        CAY_JSON_PART_BOOL,   /* number: 0 or 1 */
        CAY_JSON_PART_NULL,
        CAY_JSON_PART_RAW, /* text: a whole value as JSON */
};

/* Embedded in what takes the values. They come in an order that makes JSON: the writer sees to that. */
struct cay_json_sink {
        /* text is borrowed for the call. 0 or -errno, which ends the writing. */
        int (*put)(struct cay_json_sink *sink, enum cay_json_part part, const char *text, size_t len,
                   int64_t number);
        void (*free)(struct cay_json_sink *sink);
};

struct cay_json {
        struct cay_buf *out;         /* borrowed; NULL with a sink */
        struct cay_json_sink *sink;  /* borrowed; NULL: text */
        struct cay_json_sink *watch; /* borrowed; is told of every part before it is written; NULL: none */
        uint32_t is_object;          /* one bit per open level, the innermost lowest */
        uint32_t has_items;
        unsigned depth;
        bool has_key;  /* a key waits for its value */
        bool has_root; /* the one outermost value is there */
        int failed;    /* first failure, -errno */
};

void cay_json_init(struct cay_json *j, struct cay_buf *out);
void cay_json_init_sink(struct cay_json *j, struct cay_json_sink *sink);
/*
 * A sink that forgets everything, for answers that nobody reads. Never to be freed by other means than its
 * own.
 */
struct cay_json_sink *cay_json_nowhere(void);
void cay_json_begin_object(struct cay_json *j);
void cay_json_end_object(struct cay_json *j);
void cay_json_begin_array(struct cay_json *j);
void cay_json_end_array(struct cay_json *j);
void cay_json_key(struct cay_json *j, const char *key);
void cay_json_string(struct cay_json *j, const char *s,
                     size_t len);                      /* each byte that is not UTF-8 becomes U+FFFD */
void cay_json_text(struct cay_json *j, const char *s); /* the same for a C string; NULL gives null */
void cay_json_u64(struct cay_json *j, uint64_t v);     /* a sink gets at most INT64_MAX */
void cay_json_i64(struct cay_json *j, int64_t v);
void cay_json_bool(struct cay_json *j, bool v);
void cay_json_null(struct cay_json *j);
void cay_json_time(struct cay_json *j, uint64_t wall_ms); /* "2026-01-31T12:00:00.000Z"; null for 0 */
/* A value that is JSON text already, as it is. */
void cay_json_raw(struct cay_json *j, const char *json, size_t len);
/*
 * The same for text in the making: takes the value's place, then the caller appends it to j->out. False: not
 * to be done.
 */
bool cay_json_raw_begin(struct cay_json *j);
int cay_json_end(
        struct cay_json *j); /* 0: one whole value; -ENOSPC, -ENOMEM, -E2BIG (too deep), -EINVAL (misuse) */
