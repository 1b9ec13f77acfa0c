/* SPDX-License-Identifier: Apache-2.0 */
/* What to do about an end, in the caller's terms: each dialect names only fields that its callers can set. */
#pragma once

#include "domain/model/cause.h"
#include "domain/ops/op.h"

const char *cay_op_advice(enum cay_cause cause, enum cay_op_dialect dialect); /* "" when there is none */
/* the same, by the cause's name */
const char *cay_op_advice_by_word(const char *cause, enum cay_op_dialect dialect);
