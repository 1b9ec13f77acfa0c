/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A document that is written instead of parsed: a sink for struct cay_json (foundation/base/json_out.h). One
 * part of the daemon can pass a document to another, which reads it with json_in.h, without serialising it.
 *
 * As in a parsed document, texts are UTF-8 (other bytes become U+FFFD) without NUL, and keys are unique.
 */
#pragma once

#include "foundation/base/json_out.h"
#include "foundation/json/json_in.h"

/*
 * `most`: bytes of its texts and keys, and about 64 for each value; beyond that the writing ends with
 * -ENOSPC. A value that is referred to (cay_json_value_put) counts as one: another document has its memory.
 * Freed by its own `free`; NULL: no memory.
 */
struct cay_json_sink *cay_json_tree_new(size_t most);
/*
 * Returns what was written, after cay_json_end returned 0; the caller frees it. The sink is empty then. NULL:
 * nothing was written, or no memory.
 */
struct cay_json_in *cay_json_tree_take(struct cay_json_sink *sink);
/*
 * Writes a value of a document: as text, or, when j writes to a tree, as a reference to the same node. NULL
 * gives null.
 */
void cay_json_value_put(struct cay_json *j, const struct cay_json_value *v);
