/* SPDX-License-Identifier: Apache-2.0 */
/* Tools that are one op and its answer: those of op rows, and two that a session takes note of. */
#include <inttypes.h>
#include <string.h>

#include "dialects/mcp/tools.h"

#define IDLE_S 1800u /* of a sandbox without a name: nothing else ends it when its session was disconnected */
#define NEXT_MAX 512u

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

static void put_time(struct cay_buf *out, int64_t ms)
{
        int64_t s = (ms + 999) / 1000;

        if (s % 60 == 0 || s >= 600)
                cay_buf_printf(out, "%" PRId64 " minute%s", (s + 59) / 60, s <= 60 ? "" : "s");
        else
                cay_buf_printf(out, "%" PRId64 " second%s", s, s == 1 ? "" : "s");
}

/* What is done with it next, and how long it is there for that. */
static void say_life(const struct cay_json_value *box, bool outlives, struct cay_buf *out)
{
        int64_t idle_ms = 0, left_ms = 0;
        bool expires = cay_json_value_i64(cay_json_value_find(box, "expires_in_ms"), &left_ms);

        cay_json_value_i64(cay_json_value_find(box, "idle_limit_ms"), &idle_ms);
        cay_buf_puts(out, "Pass sandbox_id to run_command, run_code, read_file and write_file. It ");
        if (idle_ms > 0) {
                cay_buf_puts(out, "is destroyed when it was not used for ");
                put_time(out, idle_ms);
        }
        if (expires) {
                cay_buf_puts(out, idle_ms > 0 ? ", after " : "is destroyed after ");
                put_time(out, left_ms);
                cay_buf_puts(out, idle_ms > 0 ? " in any case" : "");
        }
        if (idle_ms > 0 || expires)
                cay_buf_puts(out, " (sandbox_extend changes that)");
        if (!outlives)
                cay_buf_puts(out,
                             idle_ms > 0 || expires ? ", or with this session." : "ends with this session.");
        else
                cay_buf_puts(out, idle_ms > 0 || expires ? "." : "stays until sandbox_destroy.");
}

static void on_made(struct cay_mcp_call *c, struct cay_mcp_op_call *q)
{
        const char *id = cay_json_value_text(cay_json_value_find(q->json, "sandbox_id"));
        cay_auto_buf struct cay_buf next = { 0 };

        cay_buf_init(&next, NEXT_MAX);
        if (q->err.code != CAY_OK) {
                cay_mcp_tool_done(c, q);
                return;
        }
        if (id && !cay_mcp_arg_text(c, "name"))
                cay_mcp_client_made(c->client, id);
        say_life(q->json, cay_mcp_arg_text(c, "name") != NULL && !c->client->is_temporary, &next);
        cay_mcp_tool_answer(c, q->json, c->tool->picks, cay_buf_data(&next));
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
