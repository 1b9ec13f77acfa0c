/* SPDX-License-Identifier: Apache-2.0 */
/* Rules: read, compared with names, addresses and ports. */
#include "domain/network/policy.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/parse.h"
#include "foundation/base/str.h"
#include "domain/network/preset.h"

#define LABEL_MAX 63u

static const struct cay_policy_ports web[] = { { 80, 80 }, { 443, 443 } };

void cay_policy_init(struct cay_policy *p, enum cay_policy_mode mode)
{
        *p = (struct cay_policy){ .mode = mode };
}

void cay_policy_done(struct cay_policy *p)
{
        free(p->rules);
        *p = (struct cay_policy){ 0 };
}

/* Names */

static bool is_label_char(char c)
{
        return isalnum((unsigned char)c) || c == '-' || c == '_';
}

bool cay_policy_name_fold(const char *name, size_t len, char ret[CAY_POLICY_NAME_MAX + 1])
{
        size_t label = 0;

        if (len > 0 && name[len - 1] == '.')
                len--;
        if (len == 0 || len > CAY_POLICY_NAME_MAX)
                return false;
        for (size_t i = 0; i <= len; i++) {
                if (i == len || name[i] == '.') {
                        if (label == 0 || label > LABEL_MAX || name[i - 1] == '-' || name[i - label] == '-')
                                return false;
                        label = 0;
                } else if (is_label_char(name[i])) {
                        label++;
                } else {
                        return false;
                }
                if (i < len)
                        ret[i] = (char)tolower((unsigned char)name[i]);
        }
        ret[len] = '\0';
        return true;
}

/* "1.2.3.4", "127.1" or "0x7f.1": what resolvers take for an address is no name. */
static bool looks_like_address(const char *name)
{
        const char *last = strrchr(name, '.');

        last = last != NULL ? last + 1 : name;
        return isdigit((unsigned char)last[0]) && strspn(last, "0123456789abcdefx") == strlen(last);
}

static bool is_name_below(const char *name, const char *parent)
{
        size_t len = strlen(name), parent_len = strlen(parent);

        return len > parent_len + 1 && name[len - parent_len - 1] == '.' &&
               strcmp(name + len - parent_len, parent) == 0;
}

static bool rule_has_name(const struct cay_policy_rule *r, const char *name)
{
        if (r->is_range)
                return false;
        return r->is_below ? is_name_below(name, r->name) : strcmp(name, r->name) == 0;
}

/* Reading a rule */

static int read_port_pair(const char *text, struct cay_policy_ports *ret)
{
        char first[6];
        const char *dash = strchr(text, '-');
        uint64_t low, high;

        if (strcmp(text, "*") == 0) {
                *ret = (struct cay_policy_ports){ 1, UINT16_MAX };
                return 0;
        }
        if (dash != NULL && (size_t)(dash - text) >= sizeof(first))
                return -1;
        snprintf(first, sizeof(first), "%.*s", dash != NULL ? (int)(dash - text) : 5, text);
        if (cay_parse_u64(first, &low) < 0 || cay_parse_u64(dash != NULL ? dash + 1 : text, &high) < 0 ||
            low < 1 || high > UINT16_MAX || low > high)
                return -1;
        *ret = (struct cay_policy_ports){ (uint16_t)low, (uint16_t)high };
        return 0;
}

static int read_ports(struct cay_policy_rule *r, char *text, struct cay_error *err)
{
        char *rest = text, *piece;

        while ((piece = strsep(&rest, ",")) != NULL) {
                if (r->port_count == CAY_POLICY_PORTS_MAX)
                        return cay_fail(err, CAY_INVALID, "network rule '%s' has more than %u ports", r->text,
                                        CAY_POLICY_PORTS_MAX);
                if (read_port_pair(piece, &r->ports[r->port_count]) < 0)
                        return cay_fail(err, CAY_INVALID,
                                        "network rule '%s': '%s' is not a port: use 1 to 65535, a range such "
                                        "as 5000-5010, or *",
                                        r->text, piece);
                r->port_count++;
        }
        return 0;
}

static int read_host(struct cay_policy_rule *r, const char *host, struct cay_error *err)
{
        const char *name = host;

        if (cay_address_range_parse(host, &r->range)) {
                r->is_range = true;
                return 0;
        }
        if (strchr(host, '/') != NULL || strchr(host, ':') != NULL)
                return cay_fail(err, CAY_INVALID,
                                "network rule '%s': '%s' is not an address range: bits beyond the length "
                                "must be zero",
                                r->text, host);
        if (cay_str_starts(name, "*.")) {
                r->is_below = true;
                name += 2;
        }
        if (!cay_policy_name_fold(name, strlen(name), r->name) || looks_like_address(r->name))
                return cay_fail(err, CAY_INVALID,
                                "network rule '%s': '%s' is neither a host name nor an address", r->text,
                                host);
        return 0;
}

/* Cuts the text in host and ports; ports: NULL when there are none. */
static int split_host(char *text, char **ret_host, char **ret_ports)
{
        char *colon;

        *ret_host = text;
        *ret_ports = NULL;
        if (text[0] == '[') {
                char *end = strchr(text, ']');

                if (end == NULL || (end[1] != '\0' && end[1] != ':'))
                        return -1;
                *end = '\0';
                *ret_host = text + 1;
                if (end[1] == ':')
                        *ret_ports = end + 2;
                return 0;
        }
        colon = strchr(text, ':');
        if (colon == NULL ||
            strchr(colon + 1, ':') != NULL) /* no port, or an IPv6 address without brackets */
                return 0;
        *colon = '\0';
        *ret_ports = colon + 1;
        return 0;
}

static int read_rule(struct cay_policy_rule *r, const char *text, struct cay_error *err)
{
        char copy[CAY_POLICY_TEXT_MAX], *host, *ports, *slash;

        if (!cay_str_copy(r->text, sizeof(r->text), text) || text[0] == '\0')
                return cay_fail(err, CAY_INVALID, "network rule: must have 1 to %u characters",
                                CAY_POLICY_TEXT_MAX - 1);
        memcpy(copy, r->text, sizeof(copy));
        slash = strrchr(copy, '/');
        if (slash != NULL && (strcmp(slash, "/udp") == 0 || strcmp(slash, "/tcp") == 0)) {
                r->is_udp = slash[1] == 'u';
                *slash = '\0';
        }
        if (split_host(copy, &host, &ports) < 0)
                return cay_fail(err, CAY_INVALID,
                                "network rule '%s': write an IPv6 address as [ADDRESS]:PORT", r->text);
        if (read_host(r, host, err) < 0)
                return -1;
        if (ports != NULL)
                return read_ports(r, ports, err);
        if (r->is_udp)
                return cay_fail(err, CAY_INVALID, "network rule '%s': UDP needs a port, such as %s:53/udp",
                                r->text, host);
        if (r->denies) {
                r->ports[r->port_count++] = (struct cay_policy_ports){ 1, UINT16_MAX };
                return 0;
        }
        memcpy(r->ports, web, sizeof(web));
        r->port_count = sizeof(web) / sizeof(web[0]);
        return 0;
}

static int add_one(struct cay_policy *p, const char *text, bool denies, struct cay_error *err)
{
        struct cay_policy_rule *rules;

        if (p->count == CAY_POLICY_RULES_MAX)
                return cay_fail(err, CAY_LIMIT, "network: more than %u rules", CAY_POLICY_RULES_MAX);
        rules = reallocarray(p->rules, p->count + 1, sizeof(*rules));
        if (rules == NULL)
                return cay_fail(err, CAY_INTERNAL, "no memory for the network's rules");
        p->rules = rules;
        rules[p->count] = (struct cay_policy_rule){ .denies = denies };
        if (read_rule(&rules[p->count], text, err) < 0)
                return -1;
        p->count++;
        return 0;
}

int cay_policy_add(struct cay_policy *p, const char *text, bool denies, struct cay_error *err)
{
        const char *const *rows;
        unsigned before = p->count;

        if (!cay_str_starts(text, "preset:"))
                return add_one(p, text, denies, err);
        rows = cay_preset_find(text + strlen("preset:"));
        if (rows == NULL) {
                char names[200];

                return cay_fail(err, CAY_INVALID, "network: there is no '%.60s'; there are preset:%s", text,
                                cay_preset_names(", preset:", names, sizeof(names)));
        }
        for (; *rows != NULL; rows++) {
                if (add_one(p, *rows, denies, err) < 0) {
                        p->count = before;
                        return -1;
                }
        }
        return 0;
}

/* Judging */

static bool has_port(const struct cay_policy_rule *r, uint16_t port, bool is_udp)
{
        if (r->is_udp != is_udp && !r->denies)
                return false;
        for (unsigned i = 0; i < r->port_count; i++)
                if (port >= r->ports[i].first && port <= r->ports[i].last)
                        return true;
        return false;
}

bool cay_policy_knows(const struct cay_policy *p, const char *name)
{
        bool allowed = p->mode == CAY_POLICY_PUBLIC;

        for (unsigned i = 0; i < p->count; i++) {
                const struct cay_policy_rule *r = &p->rules[i];

                if (!rule_has_name(r, name))
                        continue;
                if (r->denies && r->ports[0].first == 1 && r->ports[0].last == UINT16_MAX)
                        return false;
                allowed |= !r->denies;
        }
        return allowed && p->mode != CAY_POLICY_NONE;
}

static const struct cay_policy_rule *find(const struct cay_policy *p, const struct cay_policy_target *t,
                                          bool denies, bool is_range)
{
        for (unsigned i = 0; i < p->count; i++) {
                const struct cay_policy_rule *r = &p->rules[i];

                if (r->denies != denies || r->is_range != is_range || !has_port(r, t->port, t->is_udp))
                        continue;
                if (is_range ? cay_address_in(&t->address, &r->range)
                             : t->name != NULL && rule_has_name(r, t->name))
                        return r;
        }
        return NULL;
}

bool cay_policy_denies(const struct cay_policy *p, const struct cay_policy_target *t)
{
        return find(p, t, true, false) != NULL;
}

/* By a range: also one of the IPv4 address that an IPv6 address leads to. */
static const struct cay_policy_rule *find_range_denial(const struct cay_policy *p,
                                                       const struct cay_policy_target *t)
{
        const struct cay_policy_rule *r = find(p, t, true, true);
        struct cay_policy_target inner = *t;

        if (r == NULL && cay_address_inside(&t->address, &inner.address))
                r = find(p, &inner, true, true);
        return r;
}

static void refuse(struct cay_policy_verdict *v, const struct cay_policy_target *t, const char *why)
{
        char address[CAY_ADDRESS_TEXT];

        cay_address_text(&t->address, address);
        if (t->name != NULL)
                snprintf(v->why, sizeof(v->why), "%.80s:%u %s", t->name, t->port, why);
        else
                snprintf(v->why, sizeof(v->why), "%s:%u %s", address, t->port, why);
}

static void judge(const struct cay_policy *p, const struct cay_policy_target *t, bool is_outer,
                  struct cay_policy_verdict *ret)
{
        const char *special = cay_address_why_not_public(&t->address);
        const struct cay_policy_rule *r;
        char address[CAY_ADDRESS_TEXT];

        *ret = (struct cay_policy_verdict){ 0 };
        if (p->mode == CAY_POLICY_NONE) {
                refuse(ret, t, "is not reachable: this sandbox has no network");
                return;
        }
        r = find(p, t, true, false);
        if (r == NULL)
                r = find_range_denial(p, t);
        if (r != NULL) {
                ret->rule = r;
                refuse(ret, t, "is denied by a rule");
                return;
        }
        r = find(p, t, false, true); /* the one way to what is not public */
        if (r == NULL && special == NULL)
                r = find(p, t, false, false);
        ret->rule = r;
        ret->is_allowed =
                r != NULL || (p->mode == CAY_POLICY_PUBLIC && special == NULL && (!t->is_udp || is_outer));
        if (ret->is_allowed)
                return;
        if (special != NULL &&
            (t->name == NULL ? p->mode == CAY_POLICY_PUBLIC : cay_policy_knows(p, t->name)))
                snprintf(ret->why, sizeof(ret->why), "%.60s%s%s%s is %s: " CAY_POLICY_BY_ADDRESS,
                         t->name ? t->name : "", t->name ? " leads to " : "",
                         cay_address_text(&t->address, address), t->name ? ", which" : "", special);
        else
                refuse(ret, t, "is not in the sandbox's list of allowed hosts");
}

void cay_policy_judge(const struct cay_policy *p, const struct cay_policy_target *t,
                      struct cay_policy_verdict *ret)
{
        judge(p, t, false, ret);
}

void cay_policy_judge_outer(const struct cay_policy *p, const struct cay_policy_target *t,
                            struct cay_policy_verdict *ret)
{
        judge(p, t, true, ret);
}

bool cay_policy_is_by_address(const char *why)
{
        return strstr(why, CAY_POLICY_BY_ADDRESS) != NULL;
}

/* Comparing lists */

static bool covers_ports(const struct cay_policy_rule *outer, const struct cay_policy_ports *ports)
{
        for (unsigned i = 0; i < outer->port_count; i++)
                if (ports->first >= outer->ports[i].first && ports->last <= outer->ports[i].last)
                        return true;
        return false;
}

static bool covers_host(const struct cay_policy_rule *outer, const struct cay_policy_rule *inner)
{
        if (outer->is_range != inner->is_range || outer->is_udp != inner->is_udp)
                return false;
        if (outer->is_range)
                return cay_address_range_in(&inner->range, &outer->range);
        if (!inner->is_below)
                return rule_has_name(outer, inner->name);
        return outer->is_below &&
               (strcmp(inner->name, outer->name) == 0 || is_name_below(inner->name, outer->name));
}

static bool covers(const struct cay_policy *outer, const struct cay_policy_rule *inner,
                   const struct cay_policy_ports *ports, bool public_has_udp)
{
        if (outer->mode == CAY_POLICY_PUBLIC && (public_has_udp || !inner->is_udp) &&
            (!inner->is_range || cay_address_range_is_public(&inner->range)))
                return true;
        for (unsigned i = 0; i < outer->count; i++)
                if (!outer->rules[i].denies && covers_host(&outer->rules[i], inner) &&
                    covers_ports(&outer->rules[i], ports))
                        return true;
        return false;
}

static const char *wider(const struct cay_policy *inner, const struct cay_policy *outer, bool public_has_udp)
{
        if (inner->mode == CAY_POLICY_NONE)
                return NULL;
        if (inner->mode == CAY_POLICY_PUBLIC && outer->mode != CAY_POLICY_PUBLIC)
                return "every public address";
        for (unsigned i = 0; i < inner->count; i++) {
                const struct cay_policy_rule *r = &inner->rules[i];

                for (unsigned port = 0; !r->denies && port < r->port_count; port++)
                        if (outer->mode == CAY_POLICY_NONE ||
                            !covers(outer, r, &r->ports[port], public_has_udp))
                                return r->text;
        }
        return NULL;
}

const char *cay_policy_wider(const struct cay_policy *inner, const struct cay_policy *outer)
{
        return wider(inner, outer, true);
}

const char *cay_policy_wider_own(const struct cay_policy *now, const struct cay_policy *before)
{
        return wider(now, before, false);
}

/*
 * The ranges that the kernel refuses (foundation/sys/net_divert_rules.c) are none of them part of a public
 * /16.
 */
static bool is_public_range(const struct cay_address_range *r)
{
        return cay_address_why_not_public(&r->first) == NULL &&
               r->bits >= (cay_address_is_v4(&r->first) ? 96 + 16 : 16);
}

unsigned cay_policy_egress(const struct cay_policy *p)
{
        unsigned where = p->mode == CAY_POLICY_PUBLIC ? CAY_POLICY_EGRESS_PUBLIC : CAY_POLICY_EGRESS_NAMES,
                 udp = 0;

        for (unsigned i = 0; i < p->count; i++) {
                const struct cay_policy_rule *r = &p->rules[i];

                if (r->denies)
                        continue;
                if (r->is_udp)
                        udp = CAY_POLICY_EGRESS_UDP;
                if (r->is_range && !is_public_range(&r->range))
                        where = CAY_POLICY_EGRESS_ADDRESSES;
                else if (r->is_range && where == CAY_POLICY_EGRESS_NAMES)
                        where = CAY_POLICY_EGRESS_PUBLIC;
        }
        return where | udp;
}
