/* SPDX-License-Identifier: Apache-2.0 */
/* From the arguments of sandbox_create to what the service is asked for. */
#pragma once

#include "domain/ops/create_args.h"
#include "domain/ops/secret_use.h"
#include "domain/ops/snapshot_use.h"

struct cay_create_request {
        struct cay_sandbox_new what; /* borrows from the call's arguments and from what follows */
        struct cay_field_pair labels[CAY_SERVICE_PAIRS_MAX], env[CAY_SERVICE_PAIRS_MAX],
                own[CAY_SERVICE_PAIRS_MAX];
        struct cay_buf policy;
        struct cay_secret_use secrets;
};

/*
 * One caller must not be able to take the whole machine: requested limits have a ceiling. Callers of /sandbox
 * request none: their limits are settings. ret_field: set when this fails.
 */
int cay_create_check_most(const struct cay_op_call *c, const char **ret_field, struct cay_error *err);
int cay_create_choose_engine(struct cay_op_call *c, const struct cay_template *t, struct cay_engine_view *ret,
                             struct cay_error *err);
/* The template that the request names, or its snapshot's; NULL: none. */
const char *cay_create_template_name(const struct cay_op_call *c, const struct cay_snapshot_use *snapshot);
/*
 * Fills a zeroed r; call done whatever it returns. -1: ret_field is the field that is wrong; NULL: the text
 * begins with it.
 */
int cay_create_request_fill(struct cay_create_request *r, struct cay_op_call *c, const struct cay_template *t,
                            const struct cay_snapshot_use *snapshot, const char **ret_field,
                            struct cay_error *err);
void cay_create_request_done(struct cay_create_request *r);
