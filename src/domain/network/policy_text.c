/* SPDX-License-Identifier: Apache-2.0 */
/* Lines into two lists of rules, and questions to both of them. */
#include "domain/network/policy_text.h"

#include <string.h>

#include "foundation/base/str.h"

#define LINE_MAX_BYTES (CAY_POLICY_TEXT_MAX + 16u)

enum { NO_LIST, TEMPLATE, OWN };

static const struct {
        const char *word;
        enum cay_policy_mode mode;
} modes[] = {
        { "none", CAY_POLICY_NONE },
        { "list", CAY_POLICY_LIST },
        { "public", CAY_POLICY_PUBLIC },
        { "learn", CAY_POLICY_PUBLIC },
};

struct reader {
        struct cay_policy_pair *pair;
        int at; /* which list the lines belong to */
        unsigned line;
};

static struct cay_policy *list_of(struct reader *r)
{
        return r->at == TEMPLATE ? &r->pair->from_template : &r->pair->own;
}

static int begin_list(struct reader *r, int list, const char *mode, struct cay_error *err)
{
        if (r->at != list - 1)
                return cay_fail(err, CAY_INVALID,
                                "network policy, line %u: 'template' comes first, then 'own'", r->line);
        r->at = list;
        for (unsigned i = 0; i < CAY_COUNT(modes); i++) {
                if (strcmp(mode, modes[i].word) == 0) {
                        cay_policy_init(list_of(r), modes[i].mode);
                        return 0;
                }
        }
        return cay_fail(err, CAY_INVALID,
                        "network policy, line %u: '%.20s' is not none, list, public or learn", r->line, mode);
}

/* "ada team db", or "ada team" */
static int read_member(struct reader *r, char *words, struct cay_error *err)
{
        struct cay_policy_member *m = &r->pair->member;
        char *owner = strsep(&words, " "), *network = strsep(&words, " "), *host = strsep(&words, " ");

        if (r->at != OWN || m->owner[0] != '\0' || network == NULL || words != NULL || owner[0] == '\0' ||
            !cay_str_copy(m->owner, sizeof(m->owner), owner) || !cay_id_is_valid(network) ||
            !cay_str_copy(m->network, sizeof(m->network), network) ||
            (host != NULL && (!cay_id_is_valid(host) || !cay_str_copy(m->host, sizeof(m->host), host))))
                return cay_fail(err, CAY_INVALID,
                                "network policy, line %u: 'member OWNER NETWORK [HOST]' comes last, once",
                                r->line);
        return 0;
}

static int read_line(struct reader *r, char *line, struct cay_error *err)
{
        char *space = strchr(line, ' ');

        if (!space)
                return cay_fail(err, CAY_INVALID,
                                "network policy, line %u: must be a word, a space and a value", r->line);
        if (cay_str_starts(line, "template "))
                return begin_list(r, TEMPLATE, space + 1, err);
        if (cay_str_starts(line, "own "))
                return begin_list(r, OWN, space + 1, err);
        if (cay_str_starts(line, "member "))
                return read_member(r, space + 1, err);
        if (r->at == NO_LIST || !(cay_str_starts(line, "allow ") || cay_str_starts(line, "deny ")))
                return cay_fail(err, CAY_INVALID, "network policy, line %u: must begin with %s", r->line,
                                r->at == NO_LIST ? "'template'" : "'allow', 'deny' or 'own'");
        return cay_policy_add(list_of(r), space + 1, line[0] == 'd', err);
}

static int read_lines(struct reader *r, const char *text, size_t len, struct cay_error *err)
{
        const char *end = text + len;

        while (text < end) {
                const char *newline = memchr(text, '\n', (size_t)(end - text));
                char line[LINE_MAX_BYTES];
                size_t n = newline ? (size_t)(newline - text) : 0;

                r->line++;
                if (!newline || n >= sizeof(line) || memchr(text, 0, n))
                        return cay_fail(err, CAY_INVALID,
                                        "network policy, line %u: must be text of at most %u bytes that ends "
                                        "with a newline",
                                        r->line, LINE_MAX_BYTES - 1);
                memcpy(line, text, n);
                line[n] = '\0';
                if (read_line(r, line, err) < 0)
                        return -1;
                text = newline + 1;
        }
        if (r->at != OWN)
                return cay_fail(err, CAY_INVALID, "network policy: must have the lists 'template' and 'own'");
        return 0;
}

int cay_policy_text_read(const char *text, size_t len, struct cay_policy_pair *ret, struct cay_error *err)
{
        struct reader r = { .pair = ret };

        *ret = (struct cay_policy_pair){ 0 };
        if (read_lines(&r, text, len, err) == 0)
                return 0;
        cay_policy_pair_done(ret);
        return -1;
}

void cay_policy_pair_done(struct cay_policy_pair *p)
{
        cay_policy_done(&p->from_template);
        cay_policy_done(&p->own);
        p->member = (struct cay_policy_member){ 0 };
}

/* Questions to both */

void cay_policy_pair_judge(const struct cay_policy_pair *p, const struct cay_policy_target *t,
                           struct cay_policy_verdict *ret)
{
        struct cay_policy_verdict own;

        cay_policy_judge_outer(&p->from_template, t, ret);
        if (!ret->is_allowed)
                return;
        cay_policy_judge(&p->own, t, &own);
        if (!own.is_allowed || own.rule)
                *ret = own;
}

bool cay_policy_pair_denies(const struct cay_policy_pair *p, const struct cay_policy_target *t)
{
        return cay_policy_denies(&p->from_template, t) || cay_policy_denies(&p->own, t);
}

bool cay_policy_pair_knows(const struct cay_policy_pair *p, const char *name)
{
        return cay_policy_knows(&p->from_template, name) && cay_policy_knows(&p->own, name);
}

bool cay_policy_pair_names_address(const struct cay_policy_pair *p, const struct cay_policy_target *t)
{
        struct cay_policy_verdict a, b;

        cay_policy_judge(&p->from_template, t, &a);
        cay_policy_judge(&p->own, t, &b);
        return a.is_allowed && a.rule && a.rule->is_range && b.is_allowed && b.rule && b.rule->is_range;
}

static bool denies_names(const struct cay_policy *p)
{
        for (unsigned i = 0; i < p->count; i++)
                if (p->rules[i].denies && !p->rules[i].is_range)
                        return true;
        return false;
}

bool cay_policy_pair_checks_names(const struct cay_policy_pair *p, const struct cay_policy_target *t)
{
        return t->name && (p->from_template.mode == CAY_POLICY_LIST || p->own.mode == CAY_POLICY_LIST ||
                           denies_names(&p->from_template) || denies_names(&p->own));
}
