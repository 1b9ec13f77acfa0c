/* SPDX-License-Identifier: Apache-2.0 */
/* What the files about resources, prompts and completion share. */
#include "dialects/mcp/library.h"

#include <string.h>

void cay_mcp_look(struct cay_mcp_call *c, const char *op, const char *key, const char *value,
                  void (*done)(struct cay_mcp_call *c, struct cay_mcp_op_call *q))
{
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct cay_mcp_op_call *q = cay_mcp_op_call_new(c, done);

        if (!q)
                return;
        cay_call_args_begin(&args);
        if (key)
                cay_op_key_text(&args.j, key, value);
        cay_mcp_call_op(q, cay_op_find(op), &args, false);
}

void cay_mcp_look_fail(struct cay_mcp_call *c, const struct cay_mcp_op_call *q)
{
        cay_mcp_call_error(c, q->err.code == CAY_INTERNAL ? CAY_RPC_INTERNAL : CAY_RPC_BAD_PARAMS, NULL, "%s",
                           q->err.msg);
}

const char *cay_mcp_member(const struct cay_json_value *v, const char *name)
{
        const char *text = cay_json_value_text(cay_json_value_find(v, name));

        return text ? text : "";
}

bool cay_mcp_refuse_cursor(struct cay_mcp_call *c)
{
        if (!cay_json_value_find(c->rpc.params, "cursor"))
                return false;
        cay_mcp_call_error(c, CAY_RPC_BAD_PARAMS, NULL, "cursor: is none of ours; all of it is in one page");
        return true;
}
