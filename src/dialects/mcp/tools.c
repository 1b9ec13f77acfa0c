/* SPDX-License-Identifier: Apache-2.0 */
/* Tools listed and called: arguments checked and handed on. */
#include "dialects/mcp/tools.h"

#include <stdio.h>
#include <string.h>

#include "dialects/mcp/library.h"
#include "dialects/mcp/mcp_priv.h"
#include "dialects/mcp/task.h"

#define CAY_FOLDER_MAX 4096u

static const struct cay_mcp_extras *extras;

void cay_mcp_add_extras(const struct cay_mcp_extras *added)
{
        extras = added;
}

bool cay_mcp_extra_prompt(struct cay_mcp_call *c)
{
        return extras && extras->get_prompt(c);
}

/* The list */

bool cay_mcp_tool_is_there(const struct cay_mcp_tool *t, const struct cay_mcp_client *p)
{
        return cay_op_find(t->op) && !(p->sandbox[0] && t->flags & CAY_TOOL_FLEET);
}

const struct cay_mcp_tool *cay_mcp_tool_at(unsigned i)
{
        unsigned count;
        const struct cay_mcp_tool *tools = cay_mcp_tools(&count);

        if (i < count)
                return &tools[i];
        i -= count;
        return extras && i < extras->tool_count ? &extras->tools[i] : NULL;
}

static bool has_sandbox_param(const struct cay_mcp_tool *t, const struct cay_mcp_client *p)
{
        return t->flags & CAY_TOOL_IN_SANDBOX && !p->sandbox[0];
}

static void put_schema(struct cay_json *j, const struct cay_mcp_tool *t, const struct cay_mcp_client *p)
{
        const char *own = extras ? extras->schema(t) : NULL;

        if (own)
                cay_json_raw(j, own, strlen(own));
        else
                cay_mcp_put_schema(j, t, has_sandbox_param(t, p));
}

/* The protocol's defaults are: changes things, may destroy, not the same twice, reaches outside. */
static void put_hints(struct cay_json *j, unsigned flags)
{
        cay_json_key(j, "annotations");
        cay_json_begin_object(j);
        if (flags & CAY_TOOL_READS)
                cay_op_key_bool(j, "readOnlyHint", true);
        else if (!(flags & CAY_TOOL_DESTROYS))
                cay_op_key_bool(j, "destructiveHint", false);
        if (flags & CAY_TOOL_REPEATS)
                cay_op_key_bool(j, "idempotentHint", true);
        if (!(flags & CAY_TOOL_OPEN))
                cay_op_key_bool(j, "openWorldHint", false);
        cay_json_end_object(j);
}

void cay_mcp_put_tool(struct cay_json *j, const struct cay_mcp_tool *t, const struct cay_mcp_client *p,
                      bool is_modern)
{
        cay_json_begin_object(j);
        cay_op_key_text(j, "name", t->name);
        cay_op_key_text(j, "title", t->title);
        cay_op_key_text(j, "description", t->doc);
        cay_json_key(j, "inputSchema");
        put_schema(j, t, p);
        put_hints(j, t->flags);
        if (!is_modern && t->flags & CAY_TOOL_LONG) {
                cay_json_key(j, "execution");
                cay_json_begin_object(j);
                cay_op_key_text(j, "taskSupport", "optional");
                cay_json_end_object(j);
        }
        cay_json_end_object(j);
}

void cay_mcp_tools_list(struct cay_mcp_call *c)
{
        const struct cay_mcp_tool *t;
        struct cay_mcp_result r;

        if (cay_mcp_refuse_cursor(c))
                return;
        cay_mcp_result_begin(&r);
        cay_json_key(&r.j, "tools");
        cay_json_begin_array(&r.j);
        for (unsigned i = 0; (t = cay_mcp_tool_at(i)) != NULL; i++)
                if (cay_mcp_tool_is_there(t, c->client) && cay_mcp_group_has(c->client->groups, t->group))
                        cay_mcp_put_tool(&r.j, t, c->client, c->is_modern);
        cay_json_end_array(&r.j);
        cay_mcp_result_send(&r, c, CAY_MCP_PUBLIC);
}

/* Arguments */

bool cay_mcp_is_word_of(const char *words, const char *name)
{
        size_t len = strlen(name);

        for (const char *at = words; at && *at;) {
                size_t n = strcspn(at, " ");

                if (n == len && memcmp(at, name, n) == 0)
                        return true;
                at += n;
                at += strspn(at, " ");
        }
        return false;
}

static const char sandbox_words[] = "sandbox_id id name sandbox container_id container sandboxId";

static const struct cay_tool_param *find_param(const struct cay_mcp_tool *t, const char *name)
{
        for (const struct cay_tool_param *p = t->params; p->name; p++)
                if (strcmp(p->name, name) == 0)
                        return p;
        for (const struct cay_tool_param *p = t->params; p->name; p++)
                if (cay_mcp_is_word_of(p->words, name))
                        return p;
        return NULL;
}

static bool is_sandbox(const struct cay_mcp_call *c, const char *name)
{
        return has_sandbox_param(c->tool, c->client) && cay_mcp_is_word_of(sandbox_words, name);
}

struct search {
        const struct cay_mcp_call *call;
        const struct cay_tool_param *param; /* NULL: the sandbox */
        const struct cay_json_value *found;
        const char *unknown;
        unsigned count; /* members that mean the same */
};

static bool look(void *ctx, const char *name, const struct cay_json_value *member)
{
        struct search *s = ctx;
        const struct cay_tool_param *p = find_param(s->call->tool, name);

        if (s->param ? p == s->param : !p && is_sandbox(s->call, name)) {
                s->found = member;
                s->count++;
        } else if (!p && !is_sandbox(s->call, name)) {
                s->unknown = name;
        }
        return true;
}

static struct search search(const struct cay_mcp_call *c, const struct cay_tool_param *param)
{
        struct search s = { .call = c, .param = param };

        cay_json_value_each(c->args, look, &s);
        if (cay_json_value_type(s.found) == CAY_JSON_NULL)
                s.found = NULL; /* models write null for what they do not give */
        return s;
}

const struct cay_json_value *cay_mcp_arg(const struct cay_mcp_call *c, const char *param)
{
        const struct cay_tool_param *p = find_param(c->tool, param);

        return p ? search(c, p).found : NULL;
}

const char *cay_mcp_arg_text(const struct cay_mcp_call *c, const char *param)
{
        return cay_json_value_text(cay_mcp_arg(c, param));
}

bool cay_mcp_arg_bool(const struct cay_mcp_call *c, const char *param, bool otherwise)
{
        const struct cay_json_value *v = cay_mcp_arg(c, param);

        return cay_json_value_type(v) == CAY_JSON_BOOL ? cay_json_value_is_true(v) : otherwise;
}

uint64_t cay_mcp_arg_u64(const struct cay_mcp_call *c, const char *param, uint64_t otherwise)
{
        int64_t n;

        return cay_json_value_i64(cay_mcp_arg(c, param), &n) && n >= 0 ? (uint64_t)n : otherwise;
}

const char *cay_mcp_arg_sandbox(const struct cay_mcp_call *c)
{
        return c->client->sandbox[0] ? c->client->sandbox : cay_json_value_text(search(c, NULL).found);
}

/* A relative folder is below the workspace. False: it is none. */
static bool put_folder(const struct cay_mcp_call *c, struct cay_json *j, const char *text)
{
        const char *sandbox = c->tool->flags & CAY_TOOL_IN_SANDBOX ? cay_mcp_arg_sandbox(c) : NULL;
        struct cay_viewer viewer = cay_mcp_viewer(&c->caller);
        struct cay_sandbox_view view;
        struct cay_error err = { 0 };
        char path[CAY_FOLDER_MAX];

        if (!text || text[0] == '/' || !text[0] || strlen(text) > CAY_FOLDER_MAX / 2)
                return false;
        snprintf(path, sizeof(path), "%s/%s",
                 sandbox && cay_service_get(c->mcp->world->service, &viewer, sandbox, &view, &err) == 0 &&
                                 view.workspace_in
                         ? view.workspace_in
                         : "/workspace",
                 text);
        cay_json_text(j, path);
        return true;
}

void cay_mcp_args_begin(const struct cay_mcp_call *c, const struct cay_op *op, struct cay_call_args *args)
{
        const char *sandbox = c->tool->flags & CAY_TOOL_IN_SANDBOX ? cay_mcp_arg_sandbox(c) : NULL;
        struct cay_json *j = &args->j;

        cay_call_args_begin(args);
        if (sandbox && op->fields && cay_field_find(op->fields, "id", 2))
                cay_op_key_text(j, "id", sandbox);
        for (const struct cay_tool_param *p = c->tool->params; p->name; p++) {
                const struct cay_json_value *v = p->field ? cay_mcp_arg(c, p->name) : NULL;

                if (!v || !op->fields || !cay_field_find(op->fields, p->field, strlen(p->field)))
                        continue;
                if (c->confirm[0] && strcmp(p->field, "confirm") == 0)
                        continue; /* the newer one counts */
                cay_json_key(j, p->field);
                if (strcmp(p->field, "workdir") != 0 || !put_folder(c, j, cay_json_value_text(v)))
                        cay_json_value_put(j, v);
        }
        if (c->confirm[0] && op->fields && cay_field_find(op->fields, "confirm", strlen("confirm")))
                cay_op_key_text(j, "confirm", c->confirm);
}

/* What the op's table cannot see: names, and the tool's own values. */
static bool check_own(struct cay_mcp_call *c, const struct cay_tool_param *p)
{
        const struct cay_json_value *v = search(c, p).found;
        enum cay_json_type type = cay_json_value_type(v), wanted;
        int64_t n = 0;

        if (!v)
                return true;
        wanted = p->own->kind == CAY_FIELD_U64      ? CAY_JSON_INTEGER
                 : p->own->kind == CAY_FIELD_BOOL   ? CAY_JSON_BOOL
                 : p->own->kind == CAY_FIELD_OBJECT ? CAY_JSON_OBJECT
                                                    : CAY_JSON_TEXT;
        if (type != wanted) {
                cay_mcp_tool_fail(c, NULL, "%s: must be %s, not %s", p->name, cay_json_type_word(wanted),
                                  cay_json_type_word(type));
                return false;
        }
        if (wanted == CAY_JSON_INTEGER && cay_json_value_i64(v, &n) &&
            (n < (int64_t)p->own->min || (p->own->max && n > (int64_t)p->own->max))) {
                cay_mcp_tool_fail(c, NULL, "%s: must be from %lld to %lld", p->name, (long long)p->own->min,
                                  (long long)p->own->max);
                return false;
        }
        return true;
}

static void fail_unknown(struct cay_mcp_call *c, const char *name)
{
        char known[512] = "";
        size_t at = 0;

        if (has_sandbox_param(c->tool, c->client))
                at = (size_t)snprintf(known, sizeof(known), "%s ", cay_mcp_sandbox_param(c->tool));
        for (const struct cay_tool_param *p = c->tool->params; p->name && at < sizeof(known); p++)
                at += (size_t)snprintf(known + at, sizeof(known) - at, "%s ", p->name);
        cay_mcp_tool_fail(c, "Call it again with those names.", "%s has no argument '%.60s'; it takes: %s",
                          c->tool->name, name, known);
}

static bool check_args(struct cay_mcp_call *c)
{
        struct search s = search(c, NULL);
        bool needs = has_sandbox_param(c->tool, c->client) && !(c->tool->flags & CAY_TOOL_MAY_MAKE);

        if (s.unknown) {
                fail_unknown(c, s.unknown);
                return false;
        }
        if (s.found && !cay_json_value_text(s.found)) {
                cay_mcp_tool_fail(c, NULL, "%s: must be a text", cay_mcp_sandbox_param(c->tool));
                return false;
        }
        if (needs && !s.found) {
                cay_mcp_tool_fail(c, "Make one with sandbox_create, or look for yours with sandbox_list.",
                                  "%s: is required", cay_mcp_sandbox_param(c->tool));
                return false;
        }
        for (const struct cay_tool_param *p = c->tool->params; p->name; p++) {
                struct search given = search(c, p);

                if (given.count > 1) {
                        cay_mcp_tool_fail(c, NULL, "%s: is given more than once", p->name);
                        return false;
                }
                if (p->is_required && !given.found) {
                        cay_mcp_tool_fail(c, NULL, "%s: is required", p->name);
                        return false;
                }
                if (p->own && !check_own(c, p))
                        return false;
        }
        return true;
}

/* The modern era's second request: the same again, with what the person said. */
static bool take_input(struct cay_mcp_call *c)
{
        const struct cay_json_value *responses = cay_json_value_find(c->rpc.params, "inputResponses");
        const struct cay_json_value *answer = cay_json_value_find(responses, "confirm");
        const char *state = cay_json_value_text(cay_json_value_find(c->rpc.params, "requestState"));

        if (!c->is_modern || !responses)
                return true;
        if (cay_json_value_type(responses) != CAY_JSON_OBJECT ||
            (answer && cay_json_value_type(answer) != CAY_JSON_OBJECT) ||
            (state && (!state[0] || strlen(state) >= sizeof(c->confirm)))) {
                cay_mcp_call_error(c, CAY_RPC_BAD_PARAMS, NULL, "inputResponses, requestState: are none");
                return false;
        }
        if (!answer || !state)
                return true; /* it is asked again */
        if (!cay_mcp_is_approved(answer)) {
                cay_mcp_tool_decline(c);
                return false;
        }
        snprintf(c->confirm, sizeof(c->confirm), "%s", state);
        c->has_state = true;
        return true;
}

const struct cay_mcp_tool *cay_mcp_tool_find(const struct cay_mcp_client *p, const char *name)
{
        const struct cay_mcp_tool *t;

        for (unsigned i = 0; (t = cay_mcp_tool_at(i)) != NULL; i++)
                if (strcmp(t->name, name) == 0 && cay_mcp_tool_is_there(t, p))
                        return t;
        return NULL;
}

void cay_mcp_tool_run(struct cay_mcp_call *c)
{
        if (check_args(c))
                c->tool->run(c);
}

void cay_mcp_tools_call(struct cay_mcp_call *c)
{
        const char *name = cay_json_value_text(cay_json_value_find(c->rpc.params, "name"));

        c->args = cay_json_value_find(c->rpc.params, "arguments");
        if (cay_json_value_type(c->args) == CAY_JSON_NULL)
                c->args = NULL;
        if (!name || (c->args && cay_json_value_type(c->args) != CAY_JSON_OBJECT)) {
                cay_mcp_call_error(c, CAY_RPC_BAD_PARAMS, NULL, "%s",
                                   name ? "arguments: must be an object" : "name: must be a text");
                return;
        }
        c->tool = cay_mcp_tool_find(c->client, name);
        if (!c->tool)
                cay_mcp_call_error(c, CAY_RPC_BAD_PARAMS, NULL, "there is no tool %.80s", name);
        else if (take_input(c) && cay_mcp_task_take(c))
                cay_mcp_tool_run(c);
}
