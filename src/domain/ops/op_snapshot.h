/* SPDX-License-Identifier: Apache-2.0 */
/* How snapshots look in answers. */
#pragma once

#include "domain/ops/op.h"
#include "domain/sandboxes/snapshot.h"

extern const struct cay_result_table cay_result_snapshot;
void cay_op_put_snapshot(struct cay_json *j, const struct cay_snapshot_view *v); /* members */
