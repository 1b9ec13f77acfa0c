/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A document that is written instead of parsed: a sink for struct cay_json (foundation/base/json_out.h). What one part of the
 * daemon says to another is read with json_in.h, without a text between them.
 *
 * As in a parsed document, texts are UTF-8 (other bytes become U+FFFD) without NUL, and no key stands twice.
 */
#pragma once

#include "foundation/base/json_out.h"
#include "foundation/json/json_in.h"

struct cay_json_sink *cay_json_tree_new(void); /* freed by its own `free`; NULL: no memory */
/* What was written, once cay_json_end gave 0: for the caller to free. The sink is empty then. NULL: nothing, or no memory. */
struct cay_json_in *cay_json_tree_take(struct cay_json_sink *sink);
/* Writes a value of a document: as text, or, when j leads to a tree, as a reference to the same. NULL gives null. */
void cay_json_value_put(struct cay_json *j, const struct cay_json_value *v);
