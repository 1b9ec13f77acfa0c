/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which hosts a sandbox may reach: a list of rules in text, read once, asked at every name and every
 * connection.
 *
 *   pypi.org                     this name, ports 80 and 443
 *   *.pythonhosted.org           every name below it, not itself
 *   github.com:22,443            these ports
 *   db.example:5000-5010         a range of ports; ":*" all of them
 *   10.1.2.0/24:5432             addresses; the only way to those that are not public
 *   [2001:db8::/32]:443          the same of IPv6
 *   ntp.example:123/udp          UDP instead of TCP
 *   preset:python                the rules of a preset (presets.def)
 *
 * Theory of operation. A name is judged when it is looked up (does any rule speak of it?) and again when a
 * connection to it is made, by then with its port and with the address that the name has; the address counts
 * on its own: a name may lead to public addresses only, unless a rule allows that very address. Denials win
 * over allowances. A sandbox has up to two lists, its template's and its own: both must allow, so a sandbox
 * never reaches what its template does not allow, whatever happened to its own list since.
 */
#pragma once

#include "foundation/base/error.h"
#include "domain/network/address.h"

#define CAY_POLICY_RULES_MAX 256u
#define CAY_POLICY_PORTS_MAX 16u
#define CAY_POLICY_NAME_MAX 253u
#define CAY_POLICY_TEXT_MAX 320u /* of one rule */

enum cay_policy_mode {
        CAY_POLICY_NONE,   /* nothing */
        CAY_POLICY_LIST,   /* what the rules allow */
        CAY_POLICY_PUBLIC, /* every public address, less what the rules deny; and what they allow besides */
        CAY_POLICY_MODE_COUNT
};

struct cay_policy_ports {
        uint16_t first, last;
};

struct cay_policy_rule {
        char text[CAY_POLICY_TEXT_MAX]; /* as it was written, for logs */
        bool denies, is_udp, is_below;  /* is_below: of a name, what is below it */
        bool is_range;                  /* of addresses: */
        struct cay_address_range range;
        char name[CAY_POLICY_NAME_MAX + 1]; /* lower case, without the dot at its end */
        struct cay_policy_ports ports[CAY_POLICY_PORTS_MAX];
        unsigned port_count;
};

struct cay_policy {
        enum cay_policy_mode mode;
        struct cay_policy_rule *rules; /* owned */
        unsigned count;
};

struct cay_policy_target {
        /* what was looked up, as cay_policy_name_fold leaves it; NULL: an address was given */
        const char *name;
        struct cay_address address;
        uint16_t port;
        bool is_udp;
};

struct cay_policy_verdict {
        bool is_allowed;
        const struct cay_policy_rule *rule; /* that decided; NULL: none did */
        char why[200];                      /* when it is not: "10.0.0.1 is private" */
};

/* In `why`, where no rule for the name could help. */
#define CAY_POLICY_BY_ADDRESS "only a rule for that address allows it"
bool cay_policy_is_by_address(const char *why);

void cay_policy_init(struct cay_policy *p, enum cay_policy_mode mode);
void cay_policy_done(struct cay_policy *p);
/*
 * One rule; `denies`: from the list of denials. CAY_INVALID says what is wrong with it, CAY_LIMIT that there
 * are too many.
 */
int cay_policy_add(struct cay_policy *p, const char *text, bool denies, struct cay_error *err);

/* Checks a name and writes it in its one form (lower case, no dot at the end). False: it is no host name. */
bool cay_policy_name_fold(const char *name, size_t len, char ret[CAY_POLICY_NAME_MAX + 1]);
/* Whether looking the name up makes sense: any rule may allow a connection to it. */
bool cay_policy_knows(const struct cay_policy *p, const char *name);
/* Whether a rule denies the name and port; the address does not count. */
bool cay_policy_denies(const struct cay_policy *p, const struct cay_policy_target *t);
void cay_policy_judge(const struct cay_policy *p, const struct cay_policy_target *t,
                      struct cay_policy_verdict *ret);
/* The first allowance of `inner` that `outer` does not allow whole; NULL: there is none. */
const char *cay_policy_wider(const struct cay_policy *inner, const struct cay_policy *outer);
/* The same for two lists of one sandbox: the mode PUBLIC has no UDP of its own. */
const char *cay_policy_wider_own(const struct cay_policy *now, const struct cay_policy *before);
/*
 * As cay_policy_judge, for a template's list, which bounds another: its mode PUBLIC has UDP too, for the
 * rules of the other. cay_policy_wider compares with such a list.
 */
void cay_policy_judge_outer(const struct cay_policy *p, const struct cay_policy_target *t,
                            struct cay_policy_verdict *ret);

/*
 * What can be allowed at all, so that the kernel can refuse everything else at once. The numbers are those of
 * enum cay_spec_egress.
 */
enum cay_policy_egress {
        CAY_POLICY_EGRESS_NAMES = 1, /* names alone */
        CAY_POLICY_EGRESS_ADDRESSES, /* any address */
        CAY_POLICY_EGRESS_PUBLIC,    /* names and public addresses */
        CAY_POLICY_EGRESS_UDP = 4,   /* a flag: UDP too */
};
unsigned cay_policy_egress(const struct cay_policy *p);
