/* SPDX-License-Identifier: Apache-2.0 */
/* Networks of requests and templates. */
#include "domain/ops/network_use.h"

#include <string.h>

#include "domain/network/policy_text.h"

bool cay_op_network_has_rules(const struct cay_network_wish *wish)
{
        return wish->allow.count > 0 || wish->deny.count > 0;
}

/* A list is part of what `bridge` gives; which part, its rules say. */
static bool is_within(const char *asked, const char *given)
{
        return strcmp(asked, "none") == 0 || strcmp(asked, given) == 0 ||
               (strcmp(asked, "list") == 0 && strcmp(given, "bridge") == 0);
}

static int check_rules(const char *word, const struct cay_network_wish *wish, struct cay_error *err)
{
        if (strcmp(word, "none") == 0 && cay_op_network_has_rules(wish))
                return cay_fail(err, CAY_INVALID,
                                "%s: goes with the network list or bridge, and this sandbox has none%s",
                                wish->allow.count > 0 ? "allow" : "deny",
                                wish->allow.count > 0 ? "" : ": nothing is allowed");
        if (strcmp(word, "list") == 0 && wish->allow.count == 0)
                return cay_fail(err, CAY_INVALID, "allow: the network 'list' needs at least one rule");
        return 0;
}

int cay_op_network_word(const struct cay_template *t, const struct cay_network_wish *wish, const char **ret,
                        struct cay_error *err)
{
        const char *asked = wish->network ? wish->network : wish->allow.count > 0 ? "list" : NULL;

        *ret = asked ? asked : t ? t->network : "none";
        if (t && asked && !is_within(asked, t->network))
                return cay_fail(err, CAY_DENIED,
                                "network: template '%s' has the network %s; '%.40s' is not for it", t->name,
                                t->network, asked);
        return check_rules(*ret, wish, err);
}

/* Each rule is checked by itself, so that the answer names its field. */
static int put_rules(struct cay_buf *out, const char *field, const struct cay_field_texts *rules,
                     struct cay_error *err)
{
        struct cay_policy one;
        int r;

        for (unsigned i = 0; i < rules->count; i++) {
                cay_policy_init(&one, CAY_POLICY_LIST);
                r = cay_policy_add(&one, rules->items[i], field[0] == 'd', err);
                cay_policy_done(&one);
                if (r < 0)
                        return cay_wrap(err, "%s", field);
                if (cay_buf_printf(out, "%s %s\n", field, rules->items[i]) < 0)
                        return cay_fail(err, CAY_LIMIT, "%s: the rules are too long together", field);
        }
        return 0;
}

int cay_op_network_policy(const struct cay_template *t, enum cay_network network,
                          const struct cay_network_wish *wish, struct cay_buf *out, struct cay_error *err)
{
        struct cay_policy_pair pair = { 0 };
        const char *wider;

        if (cay_buf_puts(out, t ? "template public\n"
                                : "template public\nallow 0.0.0.0/0:*\nallow [::/0]:*\n") < 0 ||
            cay_buf_puts(out, network == CAY_NETWORK_BRIDGE ? "own public\n" : "own list\n") < 0)
                return cay_fail(err, CAY_LIMIT, "allow: the rules are too long together");
        if (put_rules(out, "allow", &wish->allow, err) < 0 || put_rules(out, "deny", &wish->deny, err) < 0)
                return -1;
        if (cay_policy_text_read(cay_buf_data(out), out->len, &pair, err) < 0)
                return cay_wrap(err, "allow");
        wider = t ? cay_policy_wider(&pair.own, &pair.from_template) : NULL;
        if (wider)
                cay_fail(err, CAY_DENIED,
                         "allow: '%.80s' is more than template '%s' has: it reaches public addresses alone",
                         wider, t->name);
        cay_policy_pair_done(&pair);
        return wider ? -1 : 0;
}
