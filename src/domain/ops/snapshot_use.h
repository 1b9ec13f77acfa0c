/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sandbox that is made of a snapshot: which one a request means, and what the snapshot fills in. What the
 * request says counts first, then the snapshot, then the template that the snapshot was made of.
 */
#pragma once

#include "domain/ops/create_args.h"
#include "domain/sandboxes/snapshot.h"

struct cay_snapshot_use {
        char id[CAY_NAME_MAX + 1]; /* "": none is meant */
        char template_name[CAY_NAME_MAX + 1];
};

/*
 * By `snapshot`, or by a `template` that is no template of the registry but a snapshot of the caller.
 * CAY_NOT_FOUND; CAY_CONFLICT: both are named and do not fit. *ret_field: the one that is wrong.
 */
int cay_op_snapshot_choose(const struct cay_op_call *c, struct cay_snapshot_use *ret, const char **ret_field,
                           struct cay_error *err);
/* What the request left open: limits, options, engine. CAY_NOT_FOUND: it was removed meanwhile. */
int cay_op_snapshot_fill(const struct cay_op_call *c, const struct cay_snapshot_use *use,
                         struct cay_sandbox_new *what, struct cay_error *err);
/* Its variables, overridden by the request's, into pairs (room for CAY_SERVICE_PAIRS_MAX). */
int cay_op_snapshot_env(const struct cay_op_call *c, const struct cay_snapshot_use *use,
                        const struct cay_field_map *own, struct cay_field_pair *pairs,
                        struct cay_field_map *ret, struct cay_error *err);
