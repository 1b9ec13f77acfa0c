/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Networks of sandboxes: what each may reach and what it did reach, and the names there are for lists of
 * hosts.
 */
#include <stdlib.h>
#include <string.h>

#include "domain/ops/member_use.h"
#include "domain/ops/network_follow.h"
#include "domain/ops/network_use.h"
#include "domain/ops/network_view.h"
#include "domain/ops/op.h"
#include "domain/ops/result_rows.h"
#include "domain/ops/view.h"

#define LOG_DEFAULT 100u

static void put_preset(struct cay_json *j, const char *name, const char *const *rules)
{
        cay_json_begin_object(j);
        cay_op_key_text(j, "name", name);
        cay_json_key(j, "rules");
        cay_json_begin_array(j);
        for (; *rules; rules++)
                cay_json_text(j, *rules);
        cay_json_end_array(j);
        cay_json_end_object(j);
}

static void run_presets(struct cay_op_call *c)
{
        struct cay_op_result o;

        cay_op_result_begin(&o, c);
        cay_json_key(&o.j, "presets");
        cay_json_begin_array(&o.j);
#define CAY_PRESET(name, ...) put_preset(&o.j, #name, (const char *const[]){ __VA_ARGS__, NULL });
#include "domain/network/presets.def"
#undef CAY_PRESET
        cay_json_end_array(&o.j);
        cay_op_result_answer(&o, c, CAY_OP_OK);
}

RESULT(result_preset, "NetworkPreset", TEXT("name"), TEXTS("rules"));
RESULT(result_presets, NULL, LIST("presets", result_preset));

const struct cay_op cay_op_network_presets = {
        .name = "network_presets",
        .route = "GET /api/network/presets",
        .doc = "Lists the presets that network rules may name (preset:python), and the hosts and ports of "
               "each",
        .scope = CAY_SCOPE_READ,
        .result = &result_presets,
        .tool = CAY_TOOL("Network presets",
                         "Rules behind preset:NAME: hosts of package registries and the like.",
                         .group = "network"),
        .verb = CAY_OP_VERB(
                "network presets", "",
                "Lists the presets that network rules may name (--allow preset:python), with their hosts\n"
                "and ports.",
                "presets: PRESET=name RULES=rules"),
        .run = run_presets,
};

/* The network of a sandbox */

struct network_args {
        const char *id;
        uint64_t from, max;
        bool follow;
};

#define SANDBOX                                                                                              \
        {                                                                                                    \
                "id", CAY_FIELD_TEXT, offsetof(struct network_args, id), 0, "the sandbox",                   \
                        .min = 1, .max = CAY_NAME_MAX                                                        \
        }

static const struct cay_field get_fields[] = { SANDBOX, {} };

static const struct cay_field log_fields[] = {
        SANDBOX,
        { "from", CAY_FIELD_U64, offsetof(struct network_args, from), 0,
          "the first number to list; default: the last ones" },
        { "limit", CAY_FIELD_U64, offsetof(struct network_args, max), 0, "at most this many; default 100",
          .min = 1, .max = CAY_NETWORK_LOG_MAX },
        { "follow", CAY_FIELD_BOOL, offsetof(struct network_args, follow), 0,
          "a stream: the last ones, then new ones as they come" },
        {},
};

struct network {
        struct cay_service_network service;
        struct cay_op_call *call;
};

static struct network *begin(struct cay_op_call *c, void (*on_done)(struct cay_job *job))
{
        struct network *s = cay_op_alloc(c, sizeof(*s));

        if (!s)
                return NULL;
        s->call = c;
        cay_job_init(&s->service.call.job, on_done);
        return s;
}

static void put_own_rules(struct cay_json *j, const char *key, const char *policy)
{
        cay_auto_free struct cay_network_rules *rules = malloc(sizeof(*rules));

        if (rules)
                cay_op_network_own_rules(policy, key, rules);
        cay_json_key(j, key);
        cay_json_begin_array(j);
        for (unsigned i = 0; rules && i < rules->count; i++)
                cay_json_text(j, rules->items[i]);
        cay_json_end_array(j);
}

static void put_member(struct cay_json *j, const char *policy)
{
        struct cay_policy_member m;

        cay_op_member_read(policy, &m);
        cay_op_key_text(j, "private_network", m.network[0] ? m.network : NULL);
        cay_op_key_text(j, "private_name", m.host[0] ? m.host : NULL);
}

static void put_stats(struct cay_json *j, const struct cay_network_stats *f)
{
        cay_op_key_u64(j, "up_bytes", f->up_bytes);
        cay_op_key_u64(j, "down_bytes", f->down_bytes);
        cay_op_key_u64(j, "connections", f->connections);
        cay_op_key_u64(j, "connections_all", f->connections_all);
        cay_op_key_u64(j, "refused", f->refused);
        cay_op_key_u64(j, "queries", f->queries);
        cay_op_key_u64(j, "queries_refused", f->queries_refused);
}

static void on_got(struct cay_job *job)
{
        struct network *s = cay_container_of(job, struct network, service.call.job);
        const struct network_args *a = s->call->args;
        struct cay_viewer viewer = cay_op_viewer(s->call);
        struct cay_error err = job->err;
        struct cay_sandbox_view view;
        struct cay_op_result o;

        if (err.code != CAY_OK || cay_service_get(s->call->world->service, &viewer, a->id, &view, &err) < 0) {
                cay_op_fail(s->call, &err, NULL);
        } else {
                cay_op_result_begin(&o, s->call);
                cay_op_key_text(&o.j, "network", cay_network_word(view.network));
                put_own_rules(&o.j, "allow", view.policy);
                put_own_rules(&o.j, "deny", view.policy);
                put_member(&o.j, view.policy);
                put_stats(&o.j, &s->service.stats);
                cay_op_result_answer(&o, s->call, CAY_OP_OK);
        }
        free(s);
}

void cay_op_network_answer(struct cay_op_call *c)
{
        const struct network_args *a = c->args; /* the id is the first of all that call this */
        struct cay_viewer viewer = cay_op_viewer(c);
        struct network *s = begin(c, on_got);

        if (s)
                cay_service_network_stats(c->world->service, &viewer, a->id, &s->service);
}

void cay_op_put_network_entry(struct cay_json *j, const struct cay_network_entry *e)
{
        cay_op_key_u64(j, "number", e->number);
        cay_op_key_time(j, "at", e->wall_ms);
        cay_op_key_text(j, "kind", e->kind);
        cay_op_key_text(j, "verdict", e->verdict);
        cay_op_key_text(j, "name", e->name[0] ? e->name : NULL);
        cay_op_key_text(j, "address", e->address[0] ? e->address : NULL);
        cay_op_key_u64(j, "port", e->port);
        cay_op_key_text(j, "rule", e->rule[0] ? e->rule : NULL);
        cay_op_key_text(j, "why", e->why[0] ? e->why : NULL);
        cay_op_key_u64(j, "connection", e->connection);
        cay_op_key_u64(j, "up_bytes", e->up_bytes);
        cay_op_key_u64(j, "down_bytes", e->down_bytes);
        cay_op_key_u64(j, "duration_ms", e->duration_ms);
}

static void put_entry(struct cay_json *j, const struct cay_network_entry *e)
{
        cay_json_begin_object(j);
        cay_op_put_network_entry(j, e);
        cay_json_end_object(j);
}

static void on_log(struct cay_job *job)
{
        struct network *s = cay_container_of(job, struct network, service.call.job);
        struct cay_op_result o;

        if (job->err.code != CAY_OK) {
                cay_op_fail(s->call, &job->err, NULL);
        } else {
                cay_op_result_begin(&o, s->call);
                cay_json_key(&o.j, "entries");
                cay_json_begin_array(&o.j);
                for (unsigned i = 0; i < s->service.log.count; i++)
                        put_entry(&o.j, &s->service.log.entries[i]);
                cay_json_end_array(&o.j);
                cay_op_result_answer(&o, s->call, CAY_OP_OK);
        }
        cay_service_network_done(&s->service);
        free(s);
}

static void run_log(struct cay_op_call *c)
{
        const struct network_args *a = c->args;
        struct cay_viewer viewer = cay_op_viewer(c);
        struct network *s;

        if (a->follow) {
                cay_op_network_follow(c, a->id, a->from);
                return;
        }
        s = begin(c, on_log);
        if (!s)
                return;
        s->service.log.from = a->from;
        s->service.log.max = a->max ? (unsigned)a->max : LOG_DEFAULT;
        cay_service_network_log(c->world->service, &viewer, a->id, &s->service);
}

SHARED_RESULT(cay_result_network, "Network", TEXT("network"), TEXTS("allow"), TEXTS("deny"),
              MAYBE("private_network", TEXT), MAYBE("private_name", TEXT), NUMBER("up_bytes"),
              NUMBER("down_bytes"), NUMBER("connections"), NUMBER("connections_all"), NUMBER("refused"),
              NUMBER("queries"), NUMBER("queries_refused"));
RESULT(result_entry, "NetworkEntry", NUMBER("number"), TIME("at"), TEXT("kind"), TEXT("verdict"),
       MAYBE("name", TEXT), MAYBE("address", TEXT), NUMBER("port"), MAYBE("rule", TEXT), MAYBE("why", TEXT),
       NUMBER("connection"), NUMBER("up_bytes"), NUMBER("down_bytes"), NUMBER("duration_ms"));
RESULT(result_log, NULL, LIST("entries", result_entry));

const struct cay_op cay_op_network_get = {
        .name = "network_get",
        .route = "GET /api/sandboxes/{id}/network",
        .doc = "The network of a sandbox: its rules, and what went over it since its last start",
        .scope = CAY_SCOPE_READ,
        .fields = get_fields,
        .args_size = sizeof(struct network_args),
        .result = &cay_result_network,
        .tool = CAY_TOOL("Show a network", "What a sandbox may reach, and how much went over it.",
                         .group = "network"),
        .verb = CAY_OP_VERB("network", "id",
                            "Shows the network of a sandbox: its rules, and what went over it.\n"
                            "`cay network log ID` lists what it looked up and connected to,\n"
                            "`cay network set ID` changes what it may reach.",
                            CAY_OP_NETWORK_COLUMNS),
        .run = cay_op_network_answer,
};

const struct cay_op cay_op_network_log = {
        .name = "network_log",
        .route = "GET /api/sandboxes/{id}/network/log",
        .doc = "What a running sandbox looked up and connected to, and what was refused; the newest is last",
        .scope = CAY_SCOPE_READ,
        .flags = CAY_OP_STREAM,
        .fields = log_fields,
        .args_size = sizeof(struct network_args),
        .result = &result_log,
        .tool = CAY_TOOL("Network log", "What a sandbox looked up and connected to; why it was refused.",
                         .params = CAY_TOOL_PARAMS({ "from", "from", NULL }, { "limit", "limit", NULL }),
                         .group = "network"),
        .verb = CAY_OP_VERB(
                "network log", "id",
                "Lists what a running sandbox looked up and connected to, and what was refused; the\n"
                "newest is last. With --follow prints new ones as they come.",
                "entries: NR=number AT=at KIND=kind VERDICT=verdict NAME=name ADDRESS=address PORT=port "
                "SENT=up_bytes/size RECEIVED=down_bytes/size TOOK=duration_ms/ms RULE=rule WHY=why",
                .letters = "follow:f"),
        .run = run_log,
};
