/* SPDX-License-Identifier: Apache-2.0 */
/* Limits as fields: a table with a row per limit, and the parser for single ones ("memory_limit"). */
#pragma once

#include "foundation/base/field.h"
#include "domain/model/limits.h"

extern const struct cay_field cay_op_limit_fields[]; /* fill a struct cay_limits */
int cay_op_parse_limit(const struct cay_field *field, const char *where, const char *text, void *at,
                       struct cay_error *err);
/* A default number of files is made fit for the disk; one that was asked for and does not is CAY_INVALID. */
int cay_op_fit_inodes(struct cay_limits *l, bool is_default, struct cay_error *err);
