/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules that a sandbox needed, from its log: as options, and as a template has them. Meant for the
 * network `learn`, and right for every other: what was refused is told apart.
 */
#include <stdlib.h>
#include <string.h>

#include "domain/ops/network_use.h"
#include "domain/ops/op.h"
#include "domain/ops/result_rows.h"

#define TEXT_MAX (128u * 1024)

struct args {
        const char *id;
};

static const struct cay_field fields[] = {
        { "id", CAY_FIELD_TEXT, offsetof(struct args, id), 0, "the sandbox", .min = 1, .max = CAY_NAME_MAX },
        {},
};

struct suggest {
        struct cay_service_network service;
        struct cay_op_call *call;
        struct cay_network_rules needed, refused;
};

/*
 * A connection as a rule: name:port or address:port; "" when it was none. A name that was refused has no port
 * yet.
 */
static void make_rule(const struct cay_network_entry *e, char *ret, size_t size)
{
        const char *host = e->name[0] ? e->name : e->address;
        bool is_v6 = strchr(host, ':') != NULL;

        ret[0] = '\0';
        if (!host[0])
                return;
        if (e->port == 0)
                snprintf(ret, size, "%s", host);
        else
                snprintf(ret, size, "%s%s%s:%u%s", is_v6 ? "[" : "", host, is_v6 ? "]" : "", e->port,
                         strcmp(e->kind, "udp") == 0 ? "/udp" : "");
}

static void note(struct suggest *s, const struct cay_network_entry *e)
{
        bool is_refused = strcmp(e->verdict, "refused") == 0;
        char rule[CAY_POLICY_TEXT_MAX];
        const char *item = rule;
        struct cay_error ignored = { 0 };
        struct cay_policy check;

        if (e->port == 0 && !is_refused) /* a look-up: the connection follows, or there was none */
                return;
        if (strncmp(e->rule, "private network ", strlen("private network ")) == 0) /* needs no rule */
                return;
        make_rule(e, rule, sizeof(rule));
        cay_policy_init(&check, CAY_POLICY_LIST);
        if (rule[0] && cay_policy_add(&check, rule, false, &ignored) == 0)
                cay_op_network_add_rules(is_refused ? &s->refused : &s->needed, "",
                                         &(struct cay_field_texts){ &item, 1, NULL }, &ignored);
        cay_policy_done(&check);
}

static void put_rules(struct cay_json *j, const char *key, const struct cay_network_rules *rules)
{
        cay_json_key(j, key);
        cay_json_begin_array(j);
        for (unsigned i = 0; i < rules->count; i++)
                cay_json_text(j, rules->items[i]);
        cay_json_end_array(j);
}

/* Words of a shell and of YAML: a rule that was accepted has no quote in it. */
static void put_texts(struct cay_json *j, const struct cay_network_rules *rules)
{
        cay_auto_buf struct cay_buf flags = { 0 }, yaml = { 0 };

        cay_buf_init(&flags, TEXT_MAX);
        cay_buf_init(&yaml, TEXT_MAX);
        cay_buf_puts(&yaml, "security:\n  network:\n    allow:");
        if (rules->count == 0)
                cay_buf_puts(&yaml, " []");
        cay_buf_puts(&yaml, "\n");
        for (unsigned i = 0; i < rules->count; i++) {
                cay_buf_printf(&flags, "%s--allow '%s'", i > 0 ? " " : "", rules->items[i]);
                cay_buf_printf(&yaml, "      - \"%s\"\n", rules->items[i]);
        }
        cay_op_key_text(j, "flags", flags.len > 0 ? cay_buf_data(&flags) : "");
        cay_op_key_text(j, "yaml", cay_buf_data(&yaml));
}

static void on_log(struct cay_job *job)
{
        struct suggest *s = cay_container_of(job, struct suggest, service.call.job);
        struct cay_op_result o;

        if (job->err.code != CAY_OK) {
                cay_op_fail(s->call, &job->err, NULL);
        } else {
                for (unsigned i = 0; i < s->service.log.count; i++)
                        note(s, &s->service.log.entries[i]);
                cay_op_result_begin(&o, s->call);
                put_rules(&o.j, "allow", &s->needed);
                put_rules(&o.j, "refused", &s->refused);
                put_texts(&o.j, &s->needed);
                cay_op_result_answer(&o, s->call, CAY_OP_OK);
        }
        cay_service_network_done(&s->service);
        free(s);
}

static void run_network_suggest(struct cay_op_call *c)
{
        const struct args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct suggest *s = cay_op_alloc(c, sizeof(*s));

        if (!s)
                return;
        s->call = c;
        cay_job_init(&s->service.call.job, on_log);
        s->service.log.max = CAY_NETWORK_LOG_MAX;
        cay_service_network_log(c->world->service, &viewer, a->id, &s->service);
}

RESULT(result_suggest, "NetworkSuggestion", TEXTS("allow"), TEXTS("refused"), TEXT("flags"), TEXT("yaml"));

const struct cay_op cay_op_network_suggest = {
        .name = "network_suggest",
        .route = "GET /api/sandboxes/{id}/network/suggest",
        .doc = "The rules that would allow what a running sandbox connected to, from the last 500 entries of "
               "its log: "
               "as rules, as options of cay, and as a template has them; what was refused apart",
        .scope = CAY_SCOPE_READ,
        .fields = fields,
        .args_size = sizeof(struct args),
        .result = &result_suggest,
        .tool = CAY_TOOL("Suggest rules", "Rules for what a sandbox connected to; what was refused apart.",
                         .picks = "allow refused", .group = "network"),
        .run = run_network_suggest,
};
