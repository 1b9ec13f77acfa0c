/* SPDX-License-Identifier: Apache-2.0 */
/* How long the operator lets a command take (the setting most_time). Callers with admin are not bound by it. */
#pragma once

#include "domain/ops/op.h"

/* What a caller asks for, in a field of its own: CAY_INVALID when it is more. 0: nothing is asked for. */
int cay_op_check_time(const struct cay_op_call *c, const char *field, uint64_t asked_ms,
                      struct cay_error *err);
/* What holds where the caller does not say: ms (0: no limit), but not more than may be. */
uint64_t cay_op_bound_time(const struct cay_op_call *c, uint64_t ms);
