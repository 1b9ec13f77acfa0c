/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The longest time that the operator allows a command (the setting most_time). It does not bind callers with
 * admin.
 */
#pragma once

#include "domain/ops/op.h"

/* Checks what a caller requests in its own field: CAY_INVALID if it is more. 0: not requested. */
int cay_op_check_time(const struct cay_op_call *c, const char *field, uint64_t asked_ms,
                      struct cay_error *err);
/* The time if the caller requests none: ms (0: no limit), bounded by the setting. */
uint64_t cay_op_bound_time(const struct cay_op_call *c, uint64_t ms);
