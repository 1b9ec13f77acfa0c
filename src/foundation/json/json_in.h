/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict reader of untrusted JSON: parsed within limits, then read by a table (foundation/base/field.h) into
 * a struct.
 *
 * Refused: more bytes, values or levels than allowed (a flat scan checks that first, so nothing here recurses
 * deeper than the limit), anything but one object or array, trailing bytes, duplicate keys, invalid UTF-8,
 * NUL in texts, numbers that do not fit. Reading refuses fields the table does not have, wrong types and
 * values out of range, and names the field: "limits.memory: …".
 *
 * A document owns everything read from it; the structs that were filled point into it. Output:
 * foundation/base/json_out.h.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/buf.h"
#include "foundation/base/error.h"
#include "foundation/base/field.h"

struct cay_json_in;    /* a document */
struct cay_json_value; /* a part of one, borrowed from it */

#define CAY_JSON_IN_DEPTH_MAX 32
#define CAY_JSON_IN_FIELD_MAX 120 /* bytes of a field's path as it is reported; longer ones are cut */

struct cay_json_in_limits { /* 0: the default given in the comment */
        size_t bytes;       /* 1 MiB */
        unsigned values;    /* 20,000: members, elements and levels together */
        unsigned depth;     /* 32, which is also the maximum */
};

/* Call once at start, before the process confines itself: makes the hash order unpredictable. */
void cay_json_in_seed(uint32_t random);

/*
 * limits NULL: all defaults. CAY_LIMIT: too big, too many, too deep; CAY_INVALID: not JSON (with line and
 * column).
 */
int cay_json_in_parse(const char *bytes, size_t len, const struct cay_json_in_limits *limits,
                      struct cay_json_in **ret, struct cay_error *err);
void cay_json_in_free(struct cay_json_in *doc); /* accepts NULL */
CAY_DEFINE_AUTO(struct cay_json_in, cay_json_in_free)
const struct cay_json_value *cay_json_in_root(const struct cay_json_in *doc);

/*
 * Fills args by the table. Members of absent fields are untouched, so set defaults before. On failure
 * ret_field (may be NULL) names the field ("limits.memory", "" for the whole document) and args may be partly
 * filled.
 */
int cay_json_in_read(struct cay_json_in *doc, const struct cay_json_value *value,
                     const struct cay_field *fields, void *args, char ret_field[CAY_JSON_IN_FIELD_MAX + 1],
                     struct cay_error *err);

/* For shapes that no table describes (JSON-RPC parameters, foreign dialects). */
enum cay_json_type {
        CAY_JSON_NULL,
        CAY_JSON_BOOL,
        CAY_JSON_INTEGER,
        CAY_JSON_REAL,
        CAY_JSON_TEXT,
        CAY_JSON_ARRAY,
        CAY_JSON_OBJECT,
        CAY_JSON_TYPE_COUNT
};

enum cay_json_type cay_json_value_type(const struct cay_json_value *v); /* NULL gives CAY_JSON_NULL */
const char *cay_json_type_word(enum cay_json_type type);                /* "an object" */
size_t cay_json_value_count(const struct cay_json_value *v);            /* of an array or object, else 0 */
const struct cay_json_value *cay_json_value_at(const struct cay_json_value *v, size_t i); /* NULL: none */
const struct cay_json_value *cay_json_value_find(const struct cay_json_value *v,
                                                 const char *name);    /* NULL: none */
const char *cay_json_value_text(const struct cay_json_value *v);       /* NULL: not a text */
bool cay_json_value_i64(const struct cay_json_value *v, int64_t *ret); /* false: not an integer */
bool cay_json_value_is_true(const struct cay_json_value *v);
/* Calls back for each member, in the order given, until one call returns false. */
void cay_json_value_each(const struct cay_json_value *v,
                         bool (*each)(void *ctx, const char *name, const struct cay_json_value *member),
                         void *ctx);
/* As compact JSON text, appended; 0, -ENOSPC or -ENOMEM. */
int cay_json_value_print(const struct cay_json_value *v, struct cay_buf *out);
