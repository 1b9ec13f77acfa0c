/* SPDX-License-Identifier: Apache-2.0 */
/* Messages to methods, in the era that each belongs to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/mcp/subscriber.h"
#include "dialects/mcp/library.h"
#include "dialects/mcp/task.h"
#include "dialects/mcp/tools.h"

#define CALLS_MAX 64u    /* of one client, at once */
#define WAITING_MAX 512u /* maximum of queued calls */

enum { LEGACY = 1, MODERN = 2, BEFORE_INIT = 4 };

static const char *const legacy_versions[] = { "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05",
                                               "2024-10-07" };

static const char fleet_text[] =
        "Cay runs code and commands in isolated sandboxes on this machine. For a quick result call run_code "
        "(code + language) or run_command: without sandbox_id each call gets a fresh sandbox that is "
        "destroyed "
        "afterwards. To keep files and installed things between calls, make a sandbox with sandbox_create "
        "and "
        "pass its sandbox_id to run_code, run_command, read_file, write_file and the others; destroy it with "
        "sandbox_destroy when done. Sandboxes "
        "have no network unless their template says so; container_list shows the templates. A command that "
        "takes longer than about 45 seconds goes on in the background: the result then has its exec_id, and "
        "exec_poll waits for it. When something ended badly, `cause` and `advice` in the result say why and "
        "what to do. ";
static const char unnamed_end_text[] = "Sandboxes without a name are destroyed when this session ends.";
static const char all_end_text[] =
        "All sandboxes are destroyed when this session ends, also those with a name: no daemon runs that "
        "could keep them.";

static const char one_text[] =
        "This is one Cay sandbox: an isolated place to run code and commands. run_command and run_code run "
        "in "
        "it, read_file, write_file, edit_file and list_files work on its files; relative paths are below its "
        "workspace. A command that takes longer than about 45 seconds goes on in the background: the result "
        "then has its exec_id, and exec_poll waits for it. When something ended badly, `cause` and `advice` "
        "in "
        "the result say why and what to do.";

bool cay_mcp_version_is_legacy(const char *version)
{
        for (unsigned i = 0; i < CAY_COUNT(legacy_versions); i++)
                if (strcmp(version, legacy_versions[i]) == 0)
                        return true;
        return false;
}

/* Capabilities. The list of tools changes when its client adds a group. */
static void put_server(struct cay_json *j, const struct cay_mcp_call *c)
{
        static const char abilities[] =
                "{\"tools\":{\"listChanged\":true},\"resources\":{\"subscribe\":true,\"listChanged\":true},"
                "\"prompts\":{\"listChanged\":true},\"logging\":{},\"completions\":{}";
        static const char legacy[] =
                ",\"tasks\":{\"list\":{},\"cancel\":{},\"requests\":{\"tools\":{\"call\":{}}}}}";
        static const char modern[] = ",\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}";
        char text[sizeof(abilities) + sizeof(legacy) + sizeof(modern)];
        char instructions[sizeof(fleet_text) + sizeof(all_end_text)];

        snprintf(text, sizeof(text), "%s%s", abilities, c->is_modern ? modern : legacy);
        cay_json_key(j, "capabilities");
        cay_json_raw(j, text, strlen(text));
        cay_json_key(j, "instructions");
        snprintf(instructions, sizeof(instructions), "%s%s", c->client->sandbox[0] ? one_text : fleet_text,
                 c->client->sandbox[0]     ? ""
                 : c->client->is_temporary ? all_end_text
                                           : unnamed_end_text);
        cay_json_text(j, instructions);
}

static bool declares_elicitation(const struct cay_json_value *capabilities)
{
        const struct cay_json_value *e = cay_json_value_find(capabilities, "elicitation");

        if (cay_json_value_type(e) != CAY_JSON_OBJECT)
                return false;
        return cay_json_value_count(e) == 0 || cay_json_value_find(e, "form") != NULL;
}

static bool declares_tasks(const struct cay_json_value *capabilities)
{
        const struct cay_json_value *extensions = cay_json_value_find(capabilities, "extensions");

        return cay_json_value_type(cay_json_value_find(extensions, "io.modelcontextprotocol/tasks")) ==
               CAY_JSON_OBJECT;
}

/* From now on its client is notified of changes. */
void cay_mcp_begin_telling(struct cay_mcp_client *p)
{
        struct cay_mcp_subscriber *e = p->subscriber;

        if (!e)
                return;
        e->mcp = p->mcp;
        e->caller = p->caller;
        memcpy(e->sandbox, p->sandbox, sizeof(e->sandbox));
        e->wants_resources = e->wants_prompts = true;
        cay_mcp_subscriber_open(e);
}

static void initialize(struct cay_mcp_call *c)
{
        const char *version = cay_json_value_text(cay_json_value_find(c->rpc.params, "protocolVersion"));
        struct cay_mcp_client *p = c->client;
        struct cay_mcp_result r;

        if (!version) {
                cay_mcp_call_error(c, CAY_RPC_BAD_PARAMS, NULL, "protocolVersion: must be a text");
                return;
        }
        if (p->version[0]) {
                cay_mcp_call_error(c, CAY_RPC_NO_REQUEST, NULL, "this session is initialized already");
                return;
        }
        snprintf(p->version, sizeof(p->version), "%s",
                 cay_mcp_version_is_legacy(version) ? version : CAY_MCP_LEGACY);
        p->can_elicit = declares_elicitation(cay_json_value_find(c->rpc.params, "capabilities"));
        cay_mcp_begin_telling(p);
        if (p->on_changed)
                p->on_changed(p);
        cay_mcp_result_begin(&r);
        cay_op_key_text(&r.j, "protocolVersion", p->version);
        put_server(&r.j, c);
        cay_json_key(&r.j, "serverInfo");
        cay_json_begin_object(&r.j);
        cay_op_key_text(&r.j, "name", "cay");
        cay_op_key_text(&r.j, "title", "Cay sandboxes");
        cay_op_key_text(&r.j, "version", CAY_VERSION);
        cay_json_end_object(&r.j);
        cay_mcp_result_send(&r, c, CAY_MCP_UNCACHED);
}

static void discover(struct cay_mcp_call *c)
{
        struct cay_mcp_result r;

        cay_mcp_result_begin(&r);
        cay_json_key(&r.j, "supportedVersions");
        cay_json_begin_array(&r.j);
        cay_json_text(&r.j, CAY_MCP_MODERN);
        cay_json_end_array(&r.j);
        put_server(&r.j, c);
        cay_mcp_result_send(&r, c, CAY_MCP_PUBLIC);
}

static void set_level(struct cay_mcp_call *c)
{
        if (!cay_mcp_level_read(cay_json_value_text(cay_json_value_find(c->rpc.params, "level")),
                                &c->client->level)) {
                cay_mcp_call_error(c, CAY_RPC_BAD_PARAMS, NULL,
                                   "level: is one of debug, info, notice, warning, error, critical, alert, "
                                   "emergency");
                return;
        }
        if (c->client->on_changed)
                c->client->on_changed(c->client);
        cay_mcp_call_done(c);
}

static const struct method {
        const char *name;
        unsigned eras;
        void (*run)(struct cay_mcp_call *c);
} methods[] = {
        { "initialize", LEGACY | BEFORE_INIT, initialize },
        { "ping", LEGACY | BEFORE_INIT, cay_mcp_call_done },
        { "logging/setLevel", LEGACY, set_level },
        { "server/discover", MODERN, discover },
        { "tools/list", LEGACY | MODERN, cay_mcp_tools_list },
        { "tools/call", LEGACY | MODERN, cay_mcp_tools_call },
        { "resources/list", LEGACY | MODERN, cay_mcp_resources_list },
        { "resources/templates/list", LEGACY | MODERN, cay_mcp_resources_templates },
        { "resources/read", LEGACY | MODERN, cay_mcp_resources_read },
        { "prompts/list", LEGACY | MODERN, cay_mcp_prompts_list },
        { "prompts/get", LEGACY | MODERN, cay_mcp_prompts_get },
        { "completion/complete", LEGACY | MODERN, cay_mcp_complete },
        { "resources/subscribe", LEGACY, cay_mcp_subscribe },
        { "resources/unsubscribe", LEGACY, cay_mcp_unsubscribe },
        { "subscriptions/listen", MODERN, cay_mcp_listen },
        { "tasks/get", LEGACY | MODERN, cay_mcp_tasks_get },
        { "tasks/list", LEGACY, cay_mcp_tasks_list },
        { "tasks/result", LEGACY, cay_mcp_tasks_result },
        { "tasks/cancel", LEGACY | MODERN, cay_mcp_tasks_cancel },
        { "tasks/update", MODERN, cay_mcp_tasks_update },
};

/* What every request of the modern era carries. */
static int read_meta(struct cay_mcp_call *c)
{
        const struct cay_json_value *capabilities =
                cay_json_value_find(c->rpc.meta, "io.modelcontextprotocol/clientCapabilities");
        const struct cay_json_value *level =
                cay_json_value_find(c->rpc.meta, "io.modelcontextprotocol/logLevel");

        c->has_bad_meta = true; /* until it is found to be none */
        if (!c->rpc.version || cay_json_value_type(capabilities) != CAY_JSON_OBJECT) {
                cay_mcp_call_error(c, CAY_RPC_BAD_PARAMS, NULL,
                                   "_meta: io.modelcontextprotocol/protocolVersion and "
                                   "io.modelcontextprotocol/clientCapabilities are required");
                return -1;
        }
        if (strcmp(c->rpc.version, CAY_MCP_MODERN) != 0) {
                cay_auto_buf struct cay_buf data = { 0 };
                struct cay_json j;

                cay_buf_init(&data, 64 * 1024);
                cay_json_init(&j, &data);
                cay_json_begin_object(&j);
                cay_json_key(&j, "supported");
                cay_json_begin_array(&j);
                cay_json_text(&j, CAY_MCP_MODERN);
                cay_json_end_array(&j);
                cay_op_key_text(&j, "requested", c->rpc.version);
                cay_json_end_object(&j);
                cay_mcp_call_error(c, CAY_RPC_BAD_VERSION, cay_json_end(&j) == 0 ? cay_buf_data(&data) : NULL,
                                   "this version of the protocol is not spoken here: %.40s", c->rpc.version);
                return -1;
        }
        if (level && !cay_mcp_level_read(cay_json_value_text(level), &c->level)) {
                cay_mcp_call_error(c, CAY_RPC_BAD_PARAMS, NULL, "logLevel: is none");
                return -1;
        }
        c->has_bad_meta = false;
        c->can_elicit = declares_elicitation(capabilities);
        c->can_task = declares_tasks(capabilities);
        return 0;
}

static const struct method *find_method(const char *name, unsigned era)
{
        for (unsigned i = 0; i < CAY_COUNT(methods); i++)
                if (methods[i].eras & era && strcmp(methods[i].name, name) == 0)
                        return &methods[i];
        return NULL;
}

static unsigned count_calls(const struct cay_mcp_client *p, bool that_wait)
{
        unsigned n = 0;

        for (const struct cay_mcp_call *c = p->calls; c; c = c->next)
                n += c->waits == that_wait;
        return n;
}

static void begin(struct cay_mcp_call *c);

void cay_mcp_take(struct cay_mcp_client *p, struct cay_rpc *rpc, struct cay_mcp_link *link)
{
        struct cay_mcp_call *c = cay_mcp_call_new(p, rpc, link);

        if (!c) {
                cay_rpc_done(rpc);
                link->ops->answer(link, 503, NULL, 0);
                return;
        }
        if (count_calls(p, true) > WAITING_MAX) {
                cay_mcp_call_error(c, CAY_RPC_INTERNAL, NULL,
                                   "more than %u requests wait for their turn: wait for some", WAITING_MAX);
                return;
        }
        if (count_calls(p, false) > CALLS_MAX && strcmp(c->rpc.method, "tools/call") == 0) {
                c->waits = true;
                return;
        }
        begin(c);
}

/* The oldest queued call: new ones are put in front. */
void cay_mcp_go_on(struct cay_mcp_client *p)
{
        struct cay_mcp_call *oldest = NULL;

        if (count_calls(p, false) >= CALLS_MAX)
                return;
        for (struct cay_mcp_call *c = p->calls; c; c = c->next)
                if (c->waits)
                        oldest = c;
        if (!oldest)
                return;
        oldest->waits = false;
        begin(oldest);
}

static void begin(struct cay_mcp_call *c)
{
        struct cay_mcp_client *p = c->client;
        const struct method *method;

        if (c->is_modern && read_meta(c) < 0)
                return;
        method = find_method(c->rpc.method, c->is_modern ? MODERN : LEGACY);
        if (!method)
                cay_mcp_call_error(c, CAY_RPC_NO_METHOD, NULL, "there is no method %.80s", c->rpc.method);
        else if (!c->is_modern && !p->version[0] && !(method->eras & BEFORE_INIT))
                cay_mcp_call_error(c, CAY_RPC_NO_REQUEST, NULL, "initialize comes first");
        else
                method->run(c);
}

/*
 * Unknown, finished or malformed ones are ignored, as the protocol has it; initialize is over by the time
 * this comes.
 */
static void cancel(struct cay_mcp_client *p, const struct cay_json_value *params)
{
        cay_auto_buf struct cay_buf id = { 0 };

        cay_buf_init(&id, CAY_RPC_ID_MAX);
        if (cay_json_value_print(cay_json_value_find(params, "requestId"), &id) < 0)
                return;
        for (struct cay_mcp_call *c = p->calls; c; c = c->next) {
                if (strcmp(c->rpc.id, cay_buf_data(&id)) == 0) {
                        cay_mcp_call_cancel(c);
                        return;
                }
        }
}

static void take_reply(struct cay_mcp_client *p, const struct cay_rpc *rpc)
{
        for (struct cay_mcp_call *c = p->calls; c; c = c->next) {
                if (c->question[0] && strcmp(c->question, rpc->id) == 0) {
                        c->question[0] = '\0';
                        c->on_reply(c, rpc->result);
                        return;
                }
        }
}

void cay_mcp_hear(struct cay_mcp_client *p, struct cay_rpc *rpc)
{
        if (rpc->kind == CAY_RPC_RESPONSE)
                take_reply(p, rpc);
        else if (strcmp(rpc->method, "notifications/cancelled") == 0 && rpc->params)
                cancel(p, rpc->params);
        cay_rpc_done(rpc);
}
