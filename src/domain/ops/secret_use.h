/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets that a request names for a new sandbox: each gets a placeholder of this sandbox's own, in a
 * variable of its name, and the programs that people use are told where the certificates are
 * (docs/network.md).
 */
#pragma once

#include "domain/ops/op.h"

#define CAY_SECRET_USE_MAX 32u
#define CAY_SECRET_USE_MARK 40

struct cay_secret_use { /* what `env` and `text` point into */
        char marks[CAY_SECRET_USE_MAX][CAY_SECRET_USE_MARK];
        struct cay_buf text; /* for struct cay_sandbox_new */
};

/*
 * names: the request's. policy: the sandbox's, which must know every host; NULL: it has none, which is
 * refused. env: gets the variables that it lacks; room for CAY_SERVICE_PAIRS_MAX. The error's text begins
 * with the field.
 */
int cay_op_use_secrets(struct cay_op_call *c, const struct cay_field_texts *names, const char *policy,
                       struct cay_field_pair *pairs, struct cay_field_map *env, struct cay_secret_use *ret,
                       struct cay_error *err);
void cay_secret_use_done(struct cay_secret_use *u);
