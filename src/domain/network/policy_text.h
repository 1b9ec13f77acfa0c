/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two lists of a sandbox as one text, for the way between our programs: a line each, without blank ones.
 *
 *   template list            what the template allows: none, list, public or learn; its rules follow
 *   allow *.example.org
 *   deny secret.example.org
 *   own public               what the sandbox itself asked for; its rules follow
 *
 *   member ada team db       it is db.team.internal for ada's other sandboxes in the private network team;
 *                            may be missing. Without a host (`member ada team`) it has no name of its own
 *                            there
 *
 * Both lists must be there, in this order, each once. `learn` is `public` for whoever judges; it says that
 * the log will be read for rules.
 */
#pragma once

#include "foundation/base/id.h"
#include "domain/network/policy.h"

#define CAY_POLICY_PRIVATE "internal" /* the domain of private networks */

/* The template's list of those who are bound by none: whatever the other list has. */
#define CAY_POLICY_TEMPLATE_ANY                                                                              \
        "template public\nallow 0.0.0.0/0:*\nallow [::/0]:*\nallow 0.0.0.0/0:*/udp\nallow [::/0]:*/udp\n"

struct cay_policy_member {            /* of a private network */
        char owner[CAY_NAME_MAX + 1]; /* "": of none */
        char network[CAY_NAME_MAX + 1];
        char host[CAY_NAME_MAX + 1]; /* "": no name of its own */
};

struct cay_policy_pair {
        struct cay_policy from_template, own;
        struct cay_policy_member member;
};

/*
 * Reads `len` bytes, which end with a newline. CAY_INVALID says what is wrong in which line; *ret is then
 * empty.
 */
int cay_policy_text_read(const char *text, size_t len, struct cay_policy_pair *ret, struct cay_error *err);
void cay_policy_pair_done(struct cay_policy_pair *p); /* fine on a zeroed one */

/*
 * Both must agree; the words of cay_policy_judge otherwise. The rule told is the sandbox's own, or else its
 * template's.
 */
void cay_policy_pair_judge(const struct cay_policy_pair *p, const struct cay_policy_target *t,
                           struct cay_policy_verdict *ret);
/* Whether a rule of either denies this name and port. */
bool cay_policy_pair_denies(const struct cay_policy_pair *p, const struct cay_policy_target *t);
bool cay_policy_pair_knows(const struct cay_policy_pair *p, const char *name);
/* Whether both allow the target by a rule for addresses: what the host's own addresses need. */
bool cay_policy_pair_names_address(const struct cay_policy_pair *p, const struct cay_policy_target *t);
/*
 * Whether a TLS connection's server name is to be compared: the name is allowed by a rule, or a rule denies
 * names.
 */
bool cay_policy_pair_checks_names(const struct cay_policy_pair *p, const struct cay_policy_target *t);
