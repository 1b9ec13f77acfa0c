/* SPDX-License-Identifier: Apache-2.0 */
/* Networks of requests and templates. */
#include "domain/ops/network_use.h"

#include <string.h>

#include "domain/network/policy_text.h"
#include "foundation/base/str.h"

static const char too_long[] = "allow: the rules are too long together";

static bool is(const char *word, const char *other)
{
        return strcmp(word, other) == 0;
}

/* As bridge. */
static bool is_open(const char *word)
{
        return is(word, "bridge") || is(word, "learn");
}

bool cay_op_network_has_rules(const struct cay_template *t, const struct cay_network_wish *wish)
{
        return wish->allow.count > 0 || wish->deny.count > 0 || wish->is_member ||
               (wish->network && is(wish->network, "learn")) ||
               (t &&
                (t->allow.count > 0 || t->deny.count > 0 || (!wish->network && is(t->network, "learn"))));
}

/*
 * A list is part of what `bridge` gives; which part, its rules say. Who may join private networks:
 * cay_op_member_fill.
 */
static bool is_within(const char *asked, const char *given)
{
        return is(asked, "none") || is(asked, "private") || is(asked, given) ||
               (is(asked, "list") && is_open(given)) || (is_open(asked) && is_open(given));
}

static int check_rules(const struct cay_template *t, const char *word, const struct cay_network_wish *wish,
                       struct cay_error *err)
{
        if ((is(word, "none") || is(word, "private")) && (wish->allow.count > 0 || wish->deny.count > 0))
                return cay_fail(err, CAY_INVALID,
                                "%s: needs the network list or bridge, and this sandbox has %s%s",
                                wish->allow.count > 0 ? "allow" : "deny", word,
                                wish->allow.count > 0 ? "" : ": nothing is allowed");
        if (is(word, "private") && !wish->is_member)
                return cay_fail(err, CAY_INVALID,
                                "private_network: the network 'private' needs the name of one");
        if (is(word, "none") && wish->is_member)
                return cay_fail(err, CAY_INVALID,
                                "private_network: needs a network other than 'none': write 'private', or "
                                "leave network out");
        if (is(word, "list") && wish->allow.count == 0 && !(t && is(t->network, "list")))
                return cay_fail(err, CAY_INVALID, "allow: the network 'list' needs at least one rule");
        return 0;
}

int cay_op_network_word(const struct cay_template *t, const struct cay_network_wish *wish, const char **ret,
                        struct cay_error *err)
{
        const char *asked = wish->network ? wish->network : wish->allow.count > 0 ? "list" : NULL;

        *ret = asked ? asked : t ? t->network : "none";
        if (!asked && wish->is_member && is(*ret, "none"))
                *ret = "private";
        if (t && asked && !is_within(asked, t->network))
                return cay_fail(err, CAY_DENIED,
                                "network: template '%s' has the network %s; '%.40s' is not for it", t->name,
                                t->network, asked);
        return check_rules(t, *ret, wish, err);
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

static int put_template(struct cay_buf *out, const struct cay_template *t, struct cay_error *err)
{
        int r = !t ? cay_buf_puts(out, CAY_POLICY_TEMPLATE_ANY)
                   : cay_buf_printf(out, "template %s\n", is(t->network, "bridge") ? "public" : t->network);

        if (r < 0)
                return cay_fail(err, CAY_LIMIT, "%s", too_long);
        return t && (put_rules(out, "allow", &t->allow, err) < 0 || put_rules(out, "deny", &t->deny, err) < 0)
                       ? -1
                       : 0;
}

static int put_own(struct cay_buf *out, const struct cay_template *t, enum cay_network network,
                   const struct cay_network_wish *wish, struct cay_error *err)
{
        static const char *const modes[CAY_NETWORK_COUNT] = {
                [CAY_NETWORK_NONE] = "none",   [CAY_NETWORK_BRIDGE] = "public", [CAY_NETWORK_LIST] = "list",
                [CAY_NETWORK_LEARN] = "learn", [CAY_NETWORK_PRIVATE] = "none",
        };
        /* A request that says nothing else has what its template lists. */
        bool is_same = t && network == CAY_NETWORK_LIST && wish->allow.count == 0;

        if (cay_buf_printf(out, "own %s\n", modes[network]) < 0)
                return cay_fail(err, CAY_LIMIT, "%s", too_long);
        return put_rules(out, "allow", is_same ? &t->allow : &wish->allow, err) < 0 ||
                               put_rules(out, "deny", &wish->deny, err) < 0
                       ? -1
                       : 0;
}

int cay_op_network_policy(const struct cay_template *t, enum cay_network network,
                          const struct cay_network_wish *wish, struct cay_buf *out, struct cay_error *err)
{
        struct cay_policy_pair pair = { 0 };
        const char *wider;

        if (put_template(out, t, err) < 0 || put_own(out, t, network, wish, err) < 0)
                return -1;
        if (cay_policy_text_read(cay_buf_data(out), out->len, &pair, err) < 0)
                return cay_wrap(err, "allow");
        wider = t ? cay_policy_wider(&pair.own, &pair.from_template) : NULL;
        if (wider)
                cay_fail(err, CAY_DENIED, "allow: '%.80s' is more than template '%s' has: it reaches %s",
                         wider, t->name,
                         is_open(t->network) ? "public addresses alone" : "what its own rules allow");
        cay_policy_pair_done(&pair);
        return wider ? -1 : 0;
}

/* Limits */

#define NETWORK_LIMITS(X)                                                                                    \
        X(network_up)                                                                                        \
        X(network_down) X(network_total) X(network_connections) X(network_connects) X(network_queries)

int cay_op_network_limits(const struct cay_template *t, struct cay_limits *l, struct cay_error *err)
{
        char asked[48], most[48];

        if (!t)
                return 0;
#define X(field)                                                                                             \
        if (t->limits.field > 0 && l->field > t->limits.field)                                               \
                return cay_fail(                                                                             \
                        err, CAY_DENIED, "limits." #field ": %s is more than template '%s' has (%s)",        \
                        cay_limit_value_text(CAY_LIMIT_NR_##field, l->field, asked, sizeof(asked)), t->name, \
                        cay_limit_value_text(CAY_LIMIT_NR_##field, t->limits.field, most, sizeof(most)));    \
        if (l->field == 0)                                                                                   \
                l->field = t->limits.field;
        NETWORK_LIMITS(X)
#undef X
        return 0;
}

/* Changes */

void cay_op_network_own_rules(const char *policy, const char *key, struct cay_network_rules *ret)
{
        const char *line = policy ? strstr(policy, "\nown ") : NULL;
        size_t key_len = strlen(key);

        ret->count = 0;
        for (line = line ? strchr(line + 1, '\n') : NULL; line && line[1]; line = strchr(line + 1, '\n')) {
                const char *rule = line + 1 + key_len + 1, *end = strchr(line + 1, '\n');

                if (strncmp(line + 1, key, key_len) != 0 || line[1 + key_len] != ' ' || !end ||
                    end - rule >= (ptrdiff_t)sizeof(ret->text[0]) || ret->count == CAY_NETWORK_RULES_MAX)
                        continue;
                memcpy(ret->text[ret->count], rule, (size_t)(end - rule));
                ret->text[ret->count][end - rule] = '\0';
                ret->items[ret->count] = ret->text[ret->count];
                ret->count++;
        }
}

static int find_rule(const struct cay_network_rules *in, const char *rule)
{
        for (unsigned i = 0; i < in->count; i++)
                if (strcmp(in->items[i], rule) == 0)
                        return (int)i;
        return -1;
}

int cay_op_network_add_rules(struct cay_network_rules *to, const char *field,
                             const struct cay_field_texts *rules, struct cay_error *err)
{
        for (unsigned i = 0; i < rules->count; i++) {
                if (find_rule(to, rules->items[i]) >= 0)
                        continue;
                if (to->count == CAY_NETWORK_RULES_MAX)
                        return cay_fail(err, CAY_LIMIT, "%s: more than %u rules", field,
                                        CAY_NETWORK_RULES_MAX);
                if (!cay_str_copy(to->text[to->count], sizeof(to->text[0]), rules->items[i]))
                        return cay_fail(err, CAY_INVALID, "%s: '%.40s…' is too long", field, rules->items[i]);
                to->items[to->count] = to->text[to->count];
                to->count++;
        }
        return 0;
}

int cay_op_network_remove_rules(struct cay_network_rules *from, const char *field,
                                const struct cay_field_texts *rules, struct cay_error *err)
{
        for (unsigned i = 0; i < rules->count; i++) {
                int at = find_rule(from, rules->items[i]);

                if (at < 0)
                        return cay_fail(err, CAY_INVALID, "%s: '%.80s' is none of its rules", field,
                                        rules->items[i]);
                from->count--;
                memmove(&from->items[at], &from->items[at + 1],
                        (from->count - (unsigned)at) * sizeof(from->items[0]));
        }
        /*
         * The texts follow their pointers: what is added next must not take the place of one that is still
         * there.
         */
        for (unsigned i = 0; i < from->count; i++) {
                if (from->items[i] != from->text[i])
                        memmove(from->text[i], from->items[i], strlen(from->items[i]) + 1);
                from->items[i] = from->text[i];
        }
        return 0;
}

/* What was denied must stay denied. */
static bool keeps_denials(const struct cay_policy *now, const struct cay_policy *before)
{
        for (unsigned i = 0; i < before->count; i++) {
                bool is_there = !before->rules[i].denies;

                for (unsigned k = 0; k < now->count && !is_there; k++)
                        is_there = now->rules[k].denies &&
                                   strcmp(now->rules[k].text, before->rules[i].text) == 0;
                if (!is_there)
                        return false;
        }
        return true;
}

int cay_op_network_narrow(const char *before, bool is_admin, enum cay_network network,
                          const struct cay_network_wish *wish, struct cay_buf *out, struct cay_error *err)
{
        const char *own = before ? strstr(before, "\nown ") : NULL;
        struct cay_policy_pair old = { 0 }, now = { 0 };
        const char *wider = NULL;

        if (!own)
                return cay_fail(err, CAY_DENIED, "network: this sandbox has none that could be narrowed");
        if (cay_buf_put(out, before, (size_t)(own + 1 - before)) < 0)
                return cay_fail(err, CAY_LIMIT, "%s", too_long);
        if (put_own(out, NULL, network, wish, err) < 0)
                return -1;
        if (cay_policy_text_read(before, strlen(before), &old, err) < 0)
                return -1;
        if (cay_policy_text_read(cay_buf_data(out), out->len, &now, err) < 0) {
                cay_policy_pair_done(&old);
                return cay_wrap(err, "allow");
        }
        wider = cay_policy_wider(&now.own, &now.from_template);
        if (!wider && !is_admin)
                wider = cay_policy_wider_own(&now.own, &old.own);
        if (!wider && !is_admin && !keeps_denials(&now.own, &old.own))
                wider = "less denied";
        if (wider)
                cay_fail(err, CAY_DENIED, "allow: '%.80s' is more than %s", wider,
                         is_admin ? "the sandbox's template has" : "this sandbox has");
        cay_policy_pair_done(&old);
        cay_policy_pair_done(&now);
        return wider ? -1 : 0;
}
