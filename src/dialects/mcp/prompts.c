/* SPDX-License-Identifier: Apache-2.0 */
/* Prompts: the templates' instructions, and how to begin. */
#include <stdio.h>
#include <string.h>

#include "dialects/mcp/tools.h"
#include "dialects/mcp/library.h"

static const char guide[] =
        "Use the Cay sandbox tools for this. Run code with run_code; when several steps share files, make a "
        "sandbox first (sandbox_create) and pass its sandbox_id. Check exit_code and stderr after each step, "
        "read "
        "`cause` and `advice` when something ended badly, and destroy the sandbox when done.";

static void put_prompt(struct cay_json *j, const char *name, const char *doc, const char *argument)
{
        cay_json_begin_object(j);
        cay_op_key_text(j, "name", name);
        cay_op_key_text(j, "description", doc);
        cay_json_key(j, "arguments");
        cay_json_begin_array(j);
        cay_json_begin_object(j);
        cay_op_key_text(j, "name", argument);
        cay_op_key_text(j, "description", "What is to be done.");
        cay_op_key_bool(j, "required", false);
        cay_json_end_object(j);
        cay_json_end_array(j);
        cay_json_end_object(j);
}

static void on_prompts(struct cay_mcp_call *c, struct cay_mcp_op_call *q)
{
        const struct cay_json_value *templates = cay_json_value_find(q->json, "templates");
        struct cay_mcp_result r;

        if (q->err.code != CAY_OK) {
                cay_mcp_look_fail(c, q);
                return;
        }
        cay_mcp_result_begin(&r);
        cay_json_key(&r.j, "prompts");
        cay_json_begin_array(&r.j);
        put_prompt(&r.j, "sandbox_guide", "How to use the sandbox tools for a task.", "task");
        for (size_t i = 0; i < cay_json_value_count(templates); i++) {
                const struct cay_json_value *t = cay_json_value_at(templates, i);
                char name[80];

                snprintf(name, sizeof(name), "use_%s", cay_mcp_member(t, "name"));
                if (cay_json_value_is_true(cay_json_value_find(t, "has_system")))
                        put_prompt(&r.j, name, cay_mcp_member(t, "description"), "task");
        }
        cay_json_end_array(&r.j);
        cay_mcp_result_send(&r, c, CAY_MCP_PRIVATE);
}

void cay_mcp_prompts_list(struct cay_mcp_call *c)
{
        if (!cay_mcp_refuse_cursor(c))
                cay_mcp_look(c, "template_list", NULL, NULL, on_prompts);
}

static void send_prompt(struct cay_mcp_call *c, const char *doc, const char *text)
{
        const struct cay_json_value *args = cay_json_value_find(c->rpc.params, "arguments");
        const char *task = cay_json_value_text(cay_json_value_find(args, "task"));
        cay_auto_buf struct cay_buf whole = { 0 };
        struct cay_mcp_result r;

        cay_buf_init(&whole, CAY_MCP_RESULT_MAX / 2);
        cay_buf_puts(&whole, text);
        if (task)
                cay_buf_printf(&whole, "\n\nThe task: %s", task);
        cay_mcp_result_begin(&r);
        cay_op_key_text(&r.j, "description", doc);
        cay_json_key(&r.j, "messages");
        cay_json_begin_array(&r.j);
        cay_json_begin_object(&r.j);
        cay_op_key_text(&r.j, "role", "user");
        cay_json_key(&r.j, "content");
        cay_json_begin_object(&r.j);
        cay_op_key_text(&r.j, "type", "text");
        cay_json_key(&r.j, "text");
        cay_json_string(&r.j, cay_buf_data(&whole), whole.len);
        cay_json_end_object(&r.j);
        cay_json_end_object(&r.j);
        cay_json_end_array(&r.j);
        cay_mcp_result_send(&r, c, CAY_MCP_UNCACHED);
}

static void on_prompt(struct cay_mcp_call *c, struct cay_mcp_op_call *q)
{
        const char *system = cay_json_value_text(cay_json_value_find(q->json, "system"));

        if (q->err.code != CAY_OK || !system)
                cay_mcp_call_error(c, CAY_RPC_BAD_PARAMS, NULL,
                                   "there is no such prompt; prompts/list lists them");
        else
                send_prompt(c, cay_mcp_member(q->json, "description"), system);
}

void cay_mcp_prompts_get(struct cay_mcp_call *c)
{
        const char *name = cay_json_value_text(cay_json_value_find(c->rpc.params, "name"));

        if (cay_mcp_extra_prompt(c))
                return;
        if (name && strcmp(name, "sandbox_guide") == 0)
                send_prompt(c, "How to use the sandbox tools for a task.", guide);
        else if (name && strncmp(name, "use_", 4) == 0 && name[4])
                cay_mcp_look(c, "template_get", "name", name + 4, on_prompt);
        else
                cay_mcp_call_error(c, CAY_RPC_BAD_PARAMS, NULL,
                                   "there is no such prompt; prompts/list lists them");
}
