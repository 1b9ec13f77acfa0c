/* SPDX-License-Identifier: Apache-2.0 */
/* What a request and its template say of a network, as one policy (domain/network/policy_text.h). */
#pragma once

#include "foundation/base/buf.h"
#include "foundation/base/field.h"
#include "domain/model/template.h"
#include "domain/sandboxes/service.h"

struct cay_network_wish {    /* of a request */
        const char *network; /* its word; NULL: none */
        struct cay_field_texts allow, deny;
};

/* The word that holds: the request's, else `list` where it has allowances, else the template's. CAY_DENIED: not with this template. */
int cay_op_network_word(const struct cay_template *t, const struct cay_network_wish *wish, const char **ret,
                        struct cay_error *err);
bool cay_op_network_has_rules(const struct cay_network_wish *wish);
/*
 * Writes the policy. t NULL: an administrator asks, and nothing but the request's own list counts. The error's text begins with the field.
 * CAY_INVALID: a rule is wrong. CAY_DENIED: one is wider than the template.
 */
int cay_op_network_policy(const struct cay_template *t, enum cay_network network,
                          const struct cay_network_wish *wish, struct cay_buf *out, struct cay_error *err);
