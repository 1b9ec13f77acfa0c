/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private networks in requests: which one a sandbox is in, and by which name (docs/network.md). It is the
 * last line of its policy (domain/network/policy_text.h). A template must permit it, as others of the owner
 * may reach more than this sandbox does.
 */
#pragma once

#include <stdbool.h>

#include "foundation/base/buf.h"
#include "foundation/base/error.h"
#include "domain/network/policy_text.h"

struct cay_service;
struct cay_template;

struct cay_member_wish { /* of a request */
        const char *network, *host;
        bool has_network; /* for changes: "" leaves */
};

struct cay_member_place {       /* of a sandbox, in the network of its owner */
        const char *owner, *id; /* id: NULL: it is being made */
        const char *name;       /* its name there, unless the request has one; may be NULL or "" */
};

/* What a policy says; false: it is in no private network. policy may be NULL. */
bool cay_op_member_read(const char *policy, struct cay_policy_member *ret);
/* Whether the template lets its sandboxes join one. t NULL: nothing binds the caller. CAY_DENIED. */
int cay_op_member_allow(const struct cay_template *t, struct cay_error *err);
/*
 * Ends the policy with the wish; without a network it must have no name either. CAY_EXISTS: another of the
 * owner's has the name.
 */
int cay_op_member_put(const struct cay_service *s, const struct cay_member_place *place,
                      const struct cay_member_wish *wish, struct cay_buf *policy, struct cay_error *err);
