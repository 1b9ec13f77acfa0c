/* SPDX-License-Identifier: Apache-2.0 */
/* Tools that are one op and its answer: those of op rows, and two that a session takes note of. */
#include <string.h>

#include "dialects/mcp/tools.h"

#define IDLE_S 1800u /* of a sandbox without a name: nothing else ends it when its session was disconnected */

static void ask(struct cay_mcp_call *c, void (*done)(struct cay_mcp_call *c, struct cay_mcp_op_call *q),
                unsigned idle_s)
{
        const struct cay_op *op = cay_op_find(c->tool->op);
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct cay_mcp_op_call *q = cay_mcp_op_call_new(c, done);

        if (!q)
                return;
        cay_mcp_args_begin(c, op, &args);
        if (idle_s > 0)
                cay_op_key_u64(&args.j, "idle_timeout", idle_s);
        cay_mcp_call_op(q, op, &args, false);
}

void cay_mcp_tool_done(struct cay_mcp_call *c, struct cay_mcp_op_call *q)
{
        if (q->err.code == CAY_OK)
                cay_mcp_tool_answer(c, q->json, c->tool->picks, NULL);
        else if (!cay_mcp_tool_confirm(c, q))
                cay_mcp_tool_fail_asked(c, q);
}

void cay_mcp_run_simple(struct cay_mcp_call *c)
{
        ask(c, cay_mcp_tool_done, 0);
}

static void on_made(struct cay_mcp_call *c, struct cay_mcp_op_call *q)
{
        const char *id = cay_json_value_text(cay_json_value_find(q->json, "sandbox_id"));

        if (q->err.code != CAY_OK) {
                cay_mcp_tool_done(c, q);
                return;
        }
        if (id && !cay_mcp_arg_text(c, "name"))
                cay_mcp_client_made(c->client, id);
        cay_mcp_tool_answer(
                c, q->json, c->tool->picks,
                cay_mcp_arg_text(c, "name")
                        ? "Pass sandbox_id to run_command, run_code, read_file and write_file."
                        : "Pass sandbox_id to run_command, run_code, read_file and write_file. It is "
                          "destroyed when it "
                          "was "
                          "not used for 30 minutes (sandbox_extend changes that), or with this session.");
}

/* It has no receiver any more: what is being made ends by its own timeouts. */
void cay_mcp_run_create(struct cay_mcp_call *c)
{
        ask(c, on_made, cay_mcp_arg_text(c, "name") ? 0 : IDLE_S);
}

static void on_destroyed(struct cay_mcp_call *c, struct cay_mcp_op_call *q)
{
        if (q->err.code == CAY_OK)
                cay_mcp_client_forget(c->client, cay_mcp_arg_sandbox(c));
        cay_mcp_tool_done(c, q);
}

void cay_mcp_run_destroy(struct cay_mcp_call *c)
{
        ask(c, on_destroyed, 0);
}
