/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The list of all tools, made once: those of ops that clients may try first, our own, then those of other ops
 * in the order of ops.def. An op's row that names no parameters has all its fields.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "dialects/mcp/tools.h"

#define TOOLS_MAX 160u
#define PARAMS_MAX 768u /* that are made from fields */

static struct cay_mcp_tool tools[TOOLS_MAX];
static unsigned tool_count;
static struct cay_tool_param params[PARAMS_MAX];
static unsigned param_count;

static bool is_in_route(const char *route, const char *field)
{
        size_t len = strlen(field);

        for (const char *at = strchr(route, '{'); at; at = strchr(at + 1, '{'))
                if (strncmp(at + 1, field, len) == 0 && at[1 + len] == '}')
                        return true;
        return false;
}

static unsigned flags_of(const struct cay_op *op)
{
        bool in_sandbox = strstr(op->route, "/api/sandboxes/{id}");
        unsigned flags = op->tool->flags | (in_sandbox ? CAY_TOOL_IN_SANDBOX : CAY_TOOL_FLEET);

        if (op->scope == CAY_SCOPE_READ)
                flags |= CAY_TOOL_READS;
        if (op->flags & CAY_OP_DESTRUCTIVE)
                flags |= CAY_TOOL_DESTROYS;
        return flags;
}

static const struct cay_tool_param *make_params(const struct cay_op *op, bool in_sandbox)
{
        const struct cay_tool_param *first = &params[param_count];

        for (const struct cay_field *f = op->fields; f && f->name; f++) {
                if (in_sandbox && strcmp(f->name, "id") == 0)
                        continue;
                assert(param_count + 1 < PARAMS_MAX);
                params[param_count++] = (struct cay_tool_param){
                        .name = f->name,
                        .field = f->name,
                        .is_required = f->flags & CAY_FIELD_REQUIRED || is_in_route(op->route, f->name),
                };
        }
        assert(param_count < PARAMS_MAX);
        params[param_count++] = (struct cay_tool_param){ .name = NULL };
        return first;
}

static void add(const struct cay_mcp_tool *t)
{
        assert(tool_count < TOOLS_MAX);
        tools[tool_count++] = *t;
}

static void add_ops(bool is_first)
{
        for (unsigned i = 0; i < cay_op_count; i++) {
                const struct cay_op *op = cay_ops[i];
                const struct cay_op_tool *row = op->tool;
                unsigned flags = row ? flags_of(op) : 0;

                if (!row || !(flags & CAY_TOOL_FIRST) == is_first)
                        continue;
                add(&(struct cay_mcp_tool){
                        .name = row->name ? row->name : op->name,
                        .title = row->title,
                        .doc = row->doc ? row->doc : op->doc,
                        .op = op->name,
                        .flags = flags,
                        .params = row->params ? row->params : make_params(op, flags & CAY_TOOL_IN_SANDBOX),
                        .run = cay_mcp_is_picture(op) ? cay_mcp_run_picture : cay_mcp_run_simple,
                        .picks = row->picks,
                        .group = row->group,
                });
        }
}

/* Models choose by this text, so it names the groups. */
static void describe_more(void)
{
        static char doc[CAY_MCP_GROUPS_MAX + 64];
        char names[CAY_MCP_GROUPS_MAX + 1];

        cay_mcp_group_names(names, sizeof(names));
        snprintf(doc, sizeof(doc), "Adds tools that are not listed yet, by group: %s.", names);
        for (unsigned i = 0; i < tool_count; i++)
                if (tools[i].run == cay_mcp_run_more)
                        tools[i].doc = doc;
}

const struct cay_mcp_tool *cay_mcp_tools(unsigned *ret_count)
{
        if (tool_count == 0) {
                add_ops(true);
                for (unsigned i = 0; i < cay_mcp_own_tool_count; i++)
                        add(&cay_mcp_own_tools[i]);
                add_ops(false);
                describe_more();
        }
        *ret_count = tool_count;
        return tools;
}
