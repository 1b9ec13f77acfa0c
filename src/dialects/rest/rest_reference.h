/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The API reference, made from the op table: a page without outside resources (its one script: rest_login.h),
 * and the same as JSON.
 */
#pragma once

#include "foundation/base/buf.h"
#include "domain/ops/op.h"

#define CAY_REFERENCE_MAX (1024u * 1024)

struct cay_rest_listing { /* what there is to show */
        const struct cay_op *const *ops;
        unsigned count;
};

int cay_reference_html(const struct cay_rest_listing *l, struct cay_buf *out); /* appends; 0 or -errno */
int cay_reference_json(const struct cay_rest_listing *l, struct cay_buf *out);
extern const char cay_reference_css[];
