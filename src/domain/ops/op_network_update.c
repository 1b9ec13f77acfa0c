/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes what a sandbox may reach.
 *
 * Whose bounds hold. A sandbox keeps the template's list that it was made with, and an administrator changes
 * its own list within that. One without a network has no such list yet: then the template counts as the
 * registry says it now, except that administrators are not bound by the template of requests that name none.
 * Everybody else may narrow what the sandbox has, or ask for what its template gives now: an administrator
 * who gave it more has not given its owner the right to ask for more.
 */
#include <stdlib.h>
#include <string.h>

#include "domain/ops/limit_fields.h"
#include "domain/ops/member_use.h"
#include "domain/ops/network_use.h"
#include "domain/ops/network_view.h"
#include "domain/ops/op.h"
#include "domain/ops/template_use.h"
#include "domain/ops/view.h"

#define POLICY_MAX CAY_SERVICE_TEXT_MAX

struct limits {
        struct cay_limits l;
        unsigned given; /* mask: 0 takes a limit away */
};

struct args {
        const char *id, *network;
        struct cay_field_texts allow, deny, add_allow, remove_allow, add_deny, remove_deny;
        bool has_allow, has_deny;
        struct cay_member_wish member;
        struct limits limits;
};

static int parse_limit(const struct cay_field *field, const char *where, const char *text, void *at,
                       struct cay_error *err)
{
        struct limits *l = at;

        l->given |= 1u << field->nr;
        if (strcmp(text, "0") == 0)
                return 0;
        return cay_limit_parse(&l->l, (enum cay_limit)field->nr, where, text, err);
}

#define LIMIT(name, text)                                                                                    \
        {                                                                                                    \
#name, CAY_FIELD_PARSED, 0, 0, text "; 0: the default", .parse = parse_limit,                \
                                                                        .nr = CAY_LIMIT_NR_##name            \
        }

static const struct cay_field limit_fields[] = {
        LIMIT(network_up, "bytes per second that it may send"),
        LIMIT(network_down, "bytes per second that it may receive"),
        LIMIT(network_total, "bytes that it may send and receive in all"),
        LIMIT(network_connections, "connections at once"),
        LIMIT(network_connects, "new connections per second"),
        LIMIT(network_queries, "names that it may look up per second"),
        {},
};

#define RULES(name, text, ...)                                                                               \
        {                                                                                                    \
#name, CAY_FIELD_TEXTS, offsetof(struct args, name), 0, text,                                \
                        .max = CAY_NETWORK_RULES_MAX, .item_max = CAY_POLICY_TEXT_MAX - 1, __VA_ARGS__       \
        }

static const struct cay_field fields[] = {
        { "id", CAY_FIELD_TEXT, offsetof(struct args, id), 0, "the sandbox", .min = 1, .max = CAY_NAME_MAX },
        { "network", CAY_FIELD_TEXT, offsetof(struct args, network), 0,
          "none, list, bridge, learn or private; default: list with allow, else as it is", .max = 63 },
        RULES(allow, "what it may reach, instead of its rules so far",
              .given = CAY_FIELD_GIVEN(struct args, has_allow)),
        RULES(deny, "what it may not reach, instead of its rules so far",
              .given = CAY_FIELD_GIVEN(struct args, has_deny)),
        RULES(add_allow, "rules to add to allow", .min = 0),
        RULES(remove_allow, "rules to take out of allow", .min = 0),
        RULES(add_deny, "rules to add to deny", .min = 0),
        RULES(remove_deny, "rules to take out of deny", .min = 0),
        { "private_network", CAY_FIELD_TEXT, offsetof(struct args, member.network), 0,
          "the private network that it is in from now on; \"\": none", .max = 63,
          .given = CAY_FIELD_GIVEN(struct args, member.has_network) },
        { "private_name", CAY_FIELD_TEXT, offsetof(struct args, member.host), 0,
          "its name in the private network", .max = 63 },
        { "limits", CAY_FIELD_OBJECT, offsetof(struct args, limits), 0, "limits of its network",
          .fields = limit_fields },
        {},
};

struct update {
        struct cay_service_call service;
        struct cay_op_call *call;
        struct cay_network_rules allow, deny;
        struct cay_policy_member before; /* the private network that it is in */
        struct cay_member_wish member;   /* as it is to be */
        struct cay_buf policy;
};

static void update_free(struct update *u)
{
        cay_buf_done(&u->policy);
        free(u);
}

static bool lacks_way_out(const struct cay_sandbox_view *view)
{
        return view->network == CAY_NETWORK_NONE || view->network == CAY_NETWORK_PRIVATE;
}

/*
 * The private network as it is to be, and what that means for the word: the one it has stays, unless it is
 * left or nothing is to be reached.
 */
static void merge_member(struct update *u, const struct args *a, const struct cay_sandbox_view *view,
                         struct cay_network_wish *ret)
{
        bool is_to_end = a->network && strcmp(a->network, "none") == 0;

        cay_op_member_read(view->policy, &u->before);
        u->member = a->member;
        if (!a->member.has_network && !is_to_end) {
                u->member.network = u->before.network;
                if (!a->member.host)
                        u->member.host = u->before.host;
        }
        ret->is_member = u->member.network && u->member.network[0];
        if (ret->network)
                return;
        ret->network = !lacks_way_out(view) ? cay_network_word(view->network)
                       : ret->is_member     ? "private"
                                            : "none";
}

/* Its rules as they are to be. */
static int merge(struct update *u, const struct args *a, const struct cay_sandbox_view *view,
                 struct cay_network_wish *ret, struct cay_error *err)
{
        bool has_rules;

        cay_op_network_own_rules(a->has_allow ? NULL : view->policy, "allow", &u->allow);
        cay_op_network_own_rules(a->has_deny ? NULL : view->policy, "deny", &u->deny);
        if (cay_op_network_add_rules(&u->allow, "allow", &a->allow, err) < 0 ||
            cay_op_network_add_rules(&u->deny, "deny", &a->deny, err) < 0 ||
            cay_op_network_remove_rules(&u->allow, "remove_allow", &a->remove_allow, err) < 0 ||
            cay_op_network_remove_rules(&u->deny, "remove_deny", &a->remove_deny, err) < 0 ||
            cay_op_network_add_rules(&u->allow, "add_allow", &a->add_allow, err) < 0 ||
            cay_op_network_add_rules(&u->deny, "add_deny", &a->add_deny, err) < 0)
                return -1;
        ret->network = a->network;
        if (!ret->network && (a->allow.count > 0 || (lacks_way_out(view) && a->add_allow.count > 0)))
                ret->network = "list";
        merge_member(u, a, view, ret);
        /*
         * Without a way out it has no rules either, unless the request itself says some, which is a mistake.
         */
        has_rules = strcmp(ret->network, "none") != 0 && strcmp(ret->network, "private") != 0;
        if (!has_rules && a->allow.count + a->add_allow.count == 0)
                u->allow.count = 0;
        if (!has_rules && a->deny.count + a->add_deny.count == 0)
                u->deny.count = 0;
        ret->allow = (struct cay_field_texts){ u->allow.items, u->allow.count, NULL };
        ret->deny = (struct cay_field_texts){ u->deny.items, u->deny.count, NULL };
        return 0;
}

/* The template that bounds a sandbox of this one; NULL: none does. */
static const struct cay_template *bound(const struct cay_op_call *c, const char *name, bool is_admin)
{
        const struct cay_template_set *set = c->world->templates ? c->world->templates->set : NULL;
        const char *unnamed = cay_op_unnamed_template(c);

        if (!set || (is_admin && strcmp(name, unnamed ? unnamed : CAY_TEMPLATE_DEFAULT) == 0))
                return NULL;
        return cay_template_find(set, name);
}

/* What it had it keeps; another private network, or another name in one, takes what the first took. */
static int put_member(struct update *u, const struct cay_sandbox_view *view, const struct cay_template *t,
                      bool is_admin, struct cay_error *err)
{
        const struct cay_member_wish *m = &u->member;
        const struct cay_member_place place = { .owner = view->owner, .id = view->id, .name = view->name };
        bool is_new = m->network && m->network[0] &&
                      (strcmp(m->network, u->before.network) != 0 ||
                       (m->host && strcmp(m->host, u->before.host) != 0));

        if (is_new && !t && !is_admin)
                return cay_fail(err, CAY_DENIED,
                                "private_network: is for templates that say so, and for administrators");
        if (is_new && cay_op_member_allow(t, err) < 0)
                return -1;
        return cay_op_member_put(u->call->world->service, &place, m, &u->policy, err);
}

static int make_policy(struct update *u, const struct cay_sandbox_view *view,
                       const struct cay_network_wish *wish, const struct cay_template *t, bool is_admin,
                       struct cay_network_change *change, struct cay_error *err)
{
        struct cay_error why = { 0 };
        const char *word = NULL;

        if (cay_op_network_word(NULL, wish, &word, err) < 0)
                return -1;
        if (change->network == CAY_NETWORK_NONE)
                return put_member(u, view, t, is_admin, err);
        if (view->policy &&
            cay_op_network_narrow(view->policy, is_admin, change->network, wish, &u->policy, &why) == 0)
                return put_member(u, view, t, is_admin, err);
        if (view->policy && (is_admin || why.code != CAY_DENIED)) {
                *err = why;
                return -1;
        }
        if (!t && !is_admin)
                return cay_fail(err, CAY_DENIED,
                                "network: '%s' is for templates that say so, and for administrators", word);
        u->policy.len = 0;
        if (cay_op_network_word(t, wish, &word, err) < 0 ||
            cay_op_network_policy(t, change->network, wish, &u->policy, err) < 0)
                return -1;
        return put_member(u, view, t, is_admin, err);
}

/* Where its template gives no network, an administrator gave it, with these limits. */
static bool is_given(const struct cay_template *t, bool is_admin)
{
        return !is_admin && !(t && (strcmp(t->network, "none") != 0 || t->private_networks));
}

static int set_limits(const struct limits *asked, const struct cay_template *t, bool is_admin,
                      struct cay_limits *l, struct cay_error *err)
{
        struct cay_limits of_template = { 0 };

        if (t)
                of_template = t->limits;
#define CAY_LIMIT(field, word, kind, min, max, doc)                                                          \
        if (asked->given & CAY_LIMIT_BIT(field)) {                                                           \
                if (of_template.field > 0 && (asked->l.field == 0 || asked->l.field > of_template.field))    \
                        return cay_fail(err, CAY_DENIED, "limits." word ": template '%s' has less",          \
                                        t->name);                                                            \
                if (is_given(t, is_admin) && l->field > 0 &&                                                 \
                    (asked->l.field == 0 || asked->l.field > l->field))                                      \
                        return cay_fail(err, CAY_DENIED,                                                     \
                                        "limits." word                                                       \
                                        ": this sandbox has less; only an administrator can raise it");      \
                l->field = asked->l.field;                                                                   \
        }
#include "domain/model/limits.def"
#undef CAY_LIMIT
        return 0;
}

static int prepare(struct update *u, const struct cay_sandbox_view *view, struct cay_network_change *change,
                   struct cay_error *err)
{
        const struct cay_op_call *c = u->call;
        const struct args *a = c->args;
        bool is_admin = cay_scope_has(c->caller.scopes, CAY_SCOPE_ADMIN);
        const struct cay_template *t = bound(c, view->template_name, is_admin);
        struct cay_network_wish wish = { 0 };
        int network;

        if (merge(u, a, view, &wish, err) < 0)
                return -1;
        network = cay_network_find(wish.network);
        if (network < 0)
                return cay_fail(err, CAY_UNSUPPORTED,
                                "network: '%.40s' must be none, list, bridge, learn or private",
                                wish.network);
        *change =
                (struct cay_network_change){ .network = (enum cay_network)network, .limits = *view->limits };
        cay_buf_init(&u->policy, POLICY_MAX);
        if (make_policy(u, view, &wish, t, is_admin, change, err) < 0 ||
            set_limits(&a->limits, t, is_admin, &change->limits, err) < 0)
                return -1;
        change->policy = change->network != CAY_NETWORK_NONE ? cay_buf_data(&u->policy) : NULL;
        return 0;
}

static void on_updated(struct cay_job *job)
{
        struct update *u = cay_container_of(job, struct update, service.job);
        struct cay_op_call *c = u->call;
        struct cay_error err = job->err;

        update_free(u);
        if (err.code != CAY_OK)
                cay_op_fail(c, &err, NULL);
        else
                cay_op_network_answer(c);
}

static void run(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct cay_network_change change;
        struct cay_sandbox_view view;
        struct cay_error err = { 0 };
        struct update *u;

        if (!cay_op_get_sandbox(c, a->id, &view))
                return;
        u = cay_op_alloc(c, sizeof(*u));
        if (!u)
                return;
        u->call = c;
        cay_job_init(&u->service.job, on_updated);
        if (prepare(u, &view, &change, &err) < 0) {
                update_free(u);
                cay_op_fail(c, &err, NULL); /* the text begins with the field */
                return;
        }
        cay_service_network_update(c->world->service, &viewer, a->id, &change, &u->service);
}

const struct cay_op cay_op_network_update = {
        .name = "network_update",
        .route = "PATCH /api/sandboxes/{id}/network",
        .doc = "Changes what a sandbox may reach: its rules or its limits. Connections that are not allowed "
               "any "
               "more end. Stored before it is answered; a stopped sandbox has it at its next start",
        .scope = CAY_SCOPE_EXEC,
        .fields = fields,
        .args_size = sizeof(struct args),
        .result = &cay_result_network,
        .tool = CAY_TOOL(
                "Change a network",
                "Allows or takes back hosts, as far as its template allows (pypi.org, preset:python).",
                .params = CAY_TOOL_PARAMS({ "add_allow", "add_allow", "Rules to add." },
                                          { "remove_allow", "remove_allow", "Rules to take out." }),
                .picks = "network allow deny", .group = "network"),
        .verb = CAY_OP_VERB(
                "network set", "id",
                "Changes what a sandbox may reach. --allow and --deny replace its rules; --add-allow,\n"
                "--remove-allow, --add-deny and --remove-deny change single ones. --private-network\n"
                "NAME joins a private network, --private-network \"\" leaves it. Connections that are\n"
                "not allowed any more end.",
                CAY_OP_NETWORK_COLUMNS, "limits"),
        .run = run,
};
