/* SPDX-License-Identifier: Apache-2.0 */
/* Completion: names of sandboxes, templates, commands and files. */
#include <stdio.h>
#include <string.h>

#include "dialects/mcp/library.h"
#include "dialects/mcp/resource_uri.h"

#define VALUES_MAX 100u
#define ENTRIES 1000u

static const struct source {
        const char *argument, *op, *rows, *member;
        bool in_sandbox; /* the op wants its id */
} sources[] = {
        { "id", "sandbox_list", "sandboxes", "sandbox_id", false },
        { "name", "template_list", "templates", "name", false },
        { "exec_id", "exec_list", "execs", "exec_id", true },
        { "path", "file_list", "entries", "name", true },
};

static const struct source *find_source(const struct cay_mcp_call *c)
{
        const char *type = cay_mcp_member(cay_json_value_find(c->rpc.params, "ref"), "type");
        const char *name = cay_mcp_member(cay_json_value_find(c->rpc.params, "argument"), "name");

        for (unsigned i = 0; i < CAY_COUNT(sources) && strcmp(type, "ref/resource") == 0; i++)
                if (strcmp(sources[i].argument, name) == 0)
                        return &sources[i];
        return NULL;
}

/* How much of the value is folders, which stay as they are: "tmp/a" has four bytes of that. */
static size_t folder_len(const struct source *s, const char *value)
{
        const char *slash = s && strcmp(s->op, "file_list") == 0 ? strrchr(value, '/') : NULL;

        return slash ? (size_t)(slash - value) + 1 : 0;
}

static bool put_row(struct cay_json *j, const struct source *s, const struct cay_json_value *row,
                    const char *value)
{
        size_t folder = folder_len(s, value);
        const char *name = cay_mcp_member(row, s->member);
        char whole[CAY_MCP_URI_MAX];

        if (!name[0] || strncmp(name, value + folder, strlen(value + folder)) != 0)
                return false;
        snprintf(whole, sizeof(whole), "%.*s%s%s", (int)folder, value, name,
                 strcmp(cay_mcp_member(row, "type"), "directory") == 0 ? "/" : "");
        cay_json_text(j, whole);
        return true;
}

/* A failed lookup gives no names: completion never fails. */
static void send_names(struct cay_mcp_call *c, const struct cay_json_value *json)
{
        const struct source *s = find_source(c);
        const char *value = cay_mcp_member(cay_json_value_find(c->rpc.params, "argument"), "value");
        const struct cay_json_value *rows = s && json ? cay_json_value_find(json, s->rows) : NULL;
        struct cay_mcp_result r;
        unsigned count = 0;
        size_t i;

        cay_mcp_result_begin(&r);
        cay_json_key(&r.j, "completion");
        cay_json_begin_object(&r.j);
        cay_json_key(&r.j, "values");
        cay_json_begin_array(&r.j);
        for (i = 0; i < cay_json_value_count(rows) && count < VALUES_MAX; i++)
                count += put_row(&r.j, s, cay_json_value_at(rows, i), value);
        cay_json_end_array(&r.j);
        cay_op_key_bool(&r.j, "hasMore", i < cay_json_value_count(rows));
        cay_json_end_object(&r.j);
        cay_mcp_result_send(&r, c, CAY_MCP_UNCACHED);
}

static void on_names(struct cay_mcp_call *c, struct cay_mcp_op_call *q)
{
        send_names(c, q->err.code == CAY_OK ? q->json : NULL);
}

static void ask_inside(struct cay_mcp_call *c, const struct source *s, const char *sandbox, const char *value)
{
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct cay_mcp_op_call *q = cay_mcp_op_call_new(c, on_names);
        char folder[CAY_MCP_URI_MAX];

        if (!q)
                return;
        snprintf(folder, sizeof(folder), "/%.*s", (int)folder_len(s, value), value);
        cay_call_args_begin(&args);
        cay_op_key_text(&args.j, "id", sandbox);
        if (strcmp(s->op, "file_list") == 0) {
                cay_op_key_text(&args.j, "path", folder);
                cay_op_key_u64(&args.j, "limit", ENTRIES);
        }
        cay_mcp_call_op(q, cay_op_find(s->op), &args, false);
}

/* Which sandbox a path or a command is in: the address's, or the one that was filled in before. */
static const char *find_sandbox(const struct cay_mcp_call *c)
{
        const struct cay_json_value *context = cay_json_value_find(c->rpc.params, "context");

        return c->client->sandbox[0] ? c->client->sandbox
                                     : cay_mcp_member(cay_json_value_find(context, "arguments"), "id");
}

void cay_mcp_complete(struct cay_mcp_call *c)
{
        const char *type = cay_mcp_member(cay_json_value_find(c->rpc.params, "ref"), "type");
        const struct cay_json_value *argument = cay_json_value_find(c->rpc.params, "argument");
        const char *value = cay_json_value_text(cay_json_value_find(argument, "value"));
        const struct source *s = find_source(c);

        if ((strcmp(type, "ref/prompt") != 0 && strcmp(type, "ref/resource") != 0) ||
            !cay_mcp_member(argument, "name")[0] || !value)
                cay_mcp_call_error(
                        c, CAY_RPC_BAD_PARAMS, NULL,
                        "ref, argument: are {type: ref/prompt or ref/resource…} and {name, value}");
        else if (s && s->in_sandbox && find_sandbox(c)[0] && strlen(value) < CAY_MCP_URI_MAX / 2)
                ask_inside(c, s, find_sandbox(c), value);
        else if (s && !s->in_sandbox && !(c->client->sandbox[0] && strcmp(s->op, "sandbox_list") == 0))
                cay_mcp_look(c, s->op, NULL, NULL, on_names);
        else
                send_names(c, NULL);
}
