/* SPDX-License-Identifier: Apache-2.0 */
/* What a request and its template say of a network, as one policy (domain/network/policy_text.h). */
#pragma once

#include "foundation/base/buf.h"
#include "foundation/base/field.h"
#include "domain/model/template.h"
#include "domain/network/policy.h"
#include "domain/sandboxes/service.h"

struct cay_network_wish {    /* of a request */
        const char *network; /* its word; NULL: none */
        struct cay_field_texts allow, deny;
        bool is_member; /* it will be in a private network */
};

/*
 * The word that holds: the request's, else `list` where it has allowances, else the template's. CAY_DENIED:
 * not with this template.
 */
int cay_op_network_word(const struct cay_template *t, const struct cay_network_wish *wish, const char **ret,
                        struct cay_error *err);
/* Whether it takes an engine with policies: the request or the template has rules, or learns them. */
bool cay_op_network_has_rules(const struct cay_template *t, const struct cay_network_wish *wish);
/*
 * Writes the policy. t NULL: an administrator asks, and nothing but the request's own list counts. The
 * error's text begins with the field. CAY_INVALID: a rule is wrong. CAY_DENIED: one is wider than the
 * template.
 */
int cay_op_network_policy(const struct cay_template *t, enum cay_network network,
                          const struct cay_network_wish *wish, struct cay_buf *out, struct cay_error *err);
/*
 * Limits of the network: what the request does not say is the template's; asking for more than the template
 * is CAY_DENIED. t may be NULL.
 */
int cay_op_network_limits(const struct cay_template *t, struct cay_limits *l, struct cay_error *err);

/* Changing the network of a sandbox that is there */

struct cay_network_rules { /* rules of one kind, copied */
        char text[CAY_NETWORK_RULES_MAX][CAY_POLICY_TEXT_MAX];
        const char *items[CAY_NETWORK_RULES_MAX];
        unsigned count;
};

/* Of a policy's own list; key: "allow" or "deny". policy may be NULL: none. */
void cay_op_network_own_rules(const char *policy, const char *key, struct cay_network_rules *ret);
/* Adds those that are not there, or takes out those that must be. The error's text begins with the field. */
int cay_op_network_add_rules(struct cay_network_rules *to, const char *field,
                             const struct cay_field_texts *rules, struct cay_error *err);
int cay_op_network_remove_rules(struct cay_network_rules *from, const char *field,
                                const struct cay_field_texts *rules, struct cay_error *err);
/*
 * The policy of a sandbox with this one (NULL: none), changed to the wish. It stays within the template's
 * list that it was made with. Who is no administrator must stay within what it had (is_admin false), or get a
 * policy of its template again: CAY_DENIED says that it is neither.
 */
int cay_op_network_narrow(const char *before, bool is_admin, enum cay_network network,
                          const struct cay_network_wish *wish, struct cay_buf *out, struct cay_error *err);
