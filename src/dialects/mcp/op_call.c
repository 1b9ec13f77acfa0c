/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Op calls of a call: their output is kept until it can be sent, or dropped when there is no receiver any
 * more.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/mcp/mcp_priv.h"

static void free_op_call(struct cay_mcp_op_call *q)
{
        cay_buf_done(&q->bytes);
        cay_buf_done(&q->body);
        free(q);
}

static void unlink_op_call(struct cay_mcp_op_call *q)
{
        for (struct cay_mcp_op_call **at = &q->call->asked; *at; at = &(*at)->next) {
                if (*at == q) {
                        *at = q->next;
                        return;
                }
        }
}

/* The final message has arrived. */
static void conclude(struct cay_mcp_op_call *q)
{
        struct cay_mcp_call *c = q->call;

        if (c) {
                unlink_op_call(q);
                if (q->done)
                        q->done(c, q);
        }
        if (!q->leaves)
                free_op_call(q);
}

static void on_answer(struct cay_call *a, enum cay_op_status status, const struct cay_json_value *answer)
{
        struct cay_mcp_op_call *q = cay_call_user(a);

        (void)status;
        q->ask = NULL;
        q->json = answer;
        conclude(q);
}

static void on_fail(struct cay_call *a, const struct cay_error *err, const char *field, const char *first)
{
        struct cay_mcp_op_call *q = cay_call_user(a);

        q->ask = NULL;
        q->err = *err;
        q->field = field;
        snprintf(q->first, sizeof(q->first), "%s", first);
        snprintf(q->confirm, sizeof(q->confirm), "%s", cay_call_confirm(a));
        conclude(q);
}

static int on_begin(struct cay_call *a, const struct cay_op_bytes *bytes)
{
        struct cay_mcp_op_call *q = cay_call_user(a);

        if (bytes && bytes->total)
                q->total = bytes->total;
        else if (bytes && bytes->length != CAY_OP_UNKNOWN_LENGTH)
                q->total = bytes->length;
        return q->call || q->kills ? 0 : -EPIPE;
}

static void kill_started(struct cay_mcp_op_call *q, const struct cay_json_value *event)
{
        const char *sandbox = cay_json_value_text(cay_json_value_find(event, "sandbox_id"));
        const char *exec = cay_json_value_text(cay_json_value_find(event, "exec_id"));

        if (sandbox && exec)
                cay_mcp_order(q->mcp, &q->caller, cay_op_find("exec_kill"), sandbox, exec);
}

static ssize_t on_event(struct cay_call *a, const char *id, const char *kind,
                        const struct cay_json_value *event)
{
        struct cay_mcp_op_call *q = cay_call_user(a);

        (void)id;
        if ((!q->call && !q->kills) || !q->event)
                return -EPIPE;
        if (q->call)
                q->event(q->call, kind, event);
        else if (strcmp(kind, "started") == 0)
                kill_started(q, event);
        return q->call ? 0 : -EPIPE;
}

/* What does not fit is not read. */
static ssize_t on_bytes(struct cay_call *a, const void *bytes, size_t len)
{
        struct cay_mcp_op_call *q = cay_call_user(a);
        size_t room = cay_buf_left(&q->bytes);

        if (!q->call)
                return -EPIPE;
        if (len > room)
                q->was_cut = true;
        return cay_buf_put(&q->bytes, bytes, len < room ? len : room) < 0 || q->was_cut ? -EPIPE : 0;
}

static void on_end(struct cay_call *a, bool was_cut)
{
        struct cay_mcp_op_call *q = cay_call_user(a);

        q->ask = NULL;
        q->was_cut = q->was_cut || was_cut;
        conclude(q);
}

static void on_room(struct cay_call *a)
{
        struct cay_mcp_op_call *q = cay_call_user(a);

        while (q->body_at < q->body.len) {
                size_t n = cay_call_write(a, cay_buf_data(&q->body) + q->body_at, q->body.len - q->body_at);

                if (n == 0)
                        return;
                q->body_at += n;
        }
        if (q->body_at == q->body.len) {
                q->body_at++; /* the end is told once */
                cay_call_write_end(a);
        }
}

static const struct cay_call_ops ops = {
        .on_answer = on_answer,
        .on_fail = on_fail,
        .on_begin = on_begin,
        .on_event = on_event,
        .on_bytes = on_bytes,
        .on_end = on_end,
        .on_room = on_room,
};

struct cay_mcp_op_call *cay_mcp_op_call_new(struct cay_mcp_call *c,
                                            void (*done)(struct cay_mcp_call *c, struct cay_mcp_op_call *q))
{
        struct cay_mcp_op_call *q = calloc(1, sizeof(*q));

        if (!q) {
                cay_mcp_call_error(c, CAY_RPC_INTERNAL, NULL, "no memory");
                return NULL;
        }
        q->call = c;
        q->mcp = c->mcp;
        q->caller = c->caller;
        q->done = done;
        return q;
}

void cay_mcp_call_op(struct cay_mcp_op_call *q, const struct cay_op *op, struct cay_call_args *args,
                     bool wants_stream)
{
        struct cay_mcp_call *c = q->call;
        char id[CAY_GATE_ID + 1];
        const struct cay_call_what what = { .op = op,
                                            .world = c->mcp->world,
                                            .caller = c->caller,
                                            .is_known = true,
                                            .dialect = CAY_OP_MCP,
                                            .wants_stream = wants_stream,
                                            .fd = -1,
                                            .args = args,
                                            .request_id = id,
                                            .ops = &ops,
                                            .user = q };

        cay_gate_make_id(id);
        cay_buf_init(&q->bytes, q->bytes_max);
        q->ask = cay_call(&what);
        if (!q->ask) {
                free_op_call(q);
                cay_mcp_call_error(c, CAY_RPC_INTERNAL, NULL, "no memory");
                return;
        }
        q->next = c->asked;
        c->asked = q;
}

static void on_leave(struct cay_deferred *d)
{
        struct cay_mcp_op_call *q = cay_container_of(d, struct cay_mcp_op_call, gone);

        q->leaves = false;
        if (q->ask)
                cay_call_gone(q->ask);
        else
                free_op_call(q);
}

void cay_mcp_op_call_leave(struct cay_mcp_op_call *q)
{
        unlink_op_call(q);
        q->call = NULL;
        q->leaves = true;
        q->gone.run = on_leave;
        cay_loop_defer(q->mcp->world->loop, &q->gone);
}

void cay_mcp_order(struct cay_mcp *mcp, const struct cay_caller *caller, const struct cay_op *op,
                   const char *sandbox, const char *exec)
{
        struct cay_mcp_op_call *q = calloc(1, sizeof(*q));
        struct cay_call_args args;
        char id[CAY_GATE_ID + 1];
        const struct cay_call_what what = { .op = op,
                                            .world = mcp->world,
                                            .caller = *caller,
                                            .is_known = true,
                                            .fd = -1,
                                            .args = &args,
                                            .request_id = id,
                                            .ops = &ops,
                                            .user = q };

        if (!q)
                return;
        cay_call_args_begin(&args);
        cay_op_key_text(&args.j, "id", sandbox);
        if (exec)
                cay_op_key_text(&args.j, "exec", exec);
        cay_gate_make_id(id);
        q->mcp = mcp;
        q->ask = cay_call(&what);
        if (!q->ask)
                free_op_call(q);
}
