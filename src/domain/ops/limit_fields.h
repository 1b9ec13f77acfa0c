/* SPDX-License-Identifier: Apache-2.0 */
/* Limits as fields: a table with one row per limit, and the parser for single ones ("memory_limit"). */
#pragma once

#include "foundation/base/field.h"
#include "domain/model/limits.h"

extern const struct cay_field cay_op_limit_fields[]; /* fill a struct cay_limits */
int cay_op_parse_limit(const struct cay_field *field, const char *where, const char *text, void *at,
                       struct cay_error *err);
/* Fits a default number of files to the disk; a requested one that does not fit is CAY_INVALID. */
int cay_op_fit_inodes(struct cay_limits *l, bool is_default, struct cay_error *err);
