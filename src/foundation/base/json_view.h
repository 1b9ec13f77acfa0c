/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads JSON text in place: no tree, no allocation. For programs that link only libc. The daemon reads its
 * clients' JSON with foundation/json.
 *
 * Theory of operation. cay_json_view_open reads the whole text once, strictly (RFC 8259, valid UTF-8, escapes
 * that pair, at most CAY_JSON_VIEW_DEPTH levels); everything after that trusts it and finds its way by
 * skipping values. A view borrows the text. Asking a view for what it is not gives nothing, never a fault: of
 * an absent value, too.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/buf.h"

#define CAY_JSON_VIEW_DEPTH 64

struct cay_json_view {
        const char *at; /* the value's first byte */
        size_t len;     /* 0: there is none */
};

int cay_json_view_open(const char *text, size_t len,
                       struct cay_json_view *ret); /* 0, -EBADMSG, -E2BIG (too deep) */

bool cay_json_view_is_array(struct cay_json_view v);
bool cay_json_view_is_text(struct cay_json_view v);
bool cay_json_view_is_null(struct cay_json_view v); /* null, or absent */

/* A member by name, or by names with dots between ("limits.memory_bytes"); the first of that name. */
struct cay_json_view cay_json_view_find(struct cay_json_view object, const char *path);
/* A string's characters, appended. -EINVAL: it is none; -ENOSPC, -ENOMEM. "\u0000" becomes a NUL byte. */
int cay_json_view_text(struct cay_json_view v, struct cay_buf *out);
/* The same into an array, cut where it is full; "" when it is no string. Without NULs: they end it. */
const char *cay_json_view_copy(struct cay_json_view v, char *ret, size_t size);
bool cay_json_view_u64(struct cay_json_view v, uint64_t *ret); /* a whole number that fits */
bool cay_json_view_is_true(struct cay_json_view v);

struct cay_json_walk { /* over the items of an array or the members of an object */
        const char *at, *end;
        bool is_object;
};

struct cay_json_walk cay_json_view_walk(struct cay_json_view v);
/* The next item; *ret_key (a string) is set for members of objects alone. */
bool cay_json_view_next(struct cay_json_walk *w, struct cay_json_view *ret_key,
                        struct cay_json_view *ret_value);
