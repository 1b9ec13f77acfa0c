/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs in one text, as in a query: key=value with & between them, encoded (%20). */
#pragma once

#include "foundation/base/error.h"
#include "foundation/base/field.h"

/*
 * Takes the text apart in place; the pairs point into it. field: what errors call it. Returns how many there
 * are, or -1.
 */
int cay_op_pairs_read(char *text, struct cay_field_pair *ret, unsigned max, const char *field,
                      struct cay_error *err);
