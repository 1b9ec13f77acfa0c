/* SPDX-License-Identifier: Apache-2.0 */
/* What task.c (what tasks are) and task_methods.c (what is asked of them) share. */
#pragma once

#include "dialects/mcp/mcp_priv.h"
#include "dialects/mcp/task.h"

#define CAY_MCP_TASK_POLL_MS 1000u

enum cay_mcp_task_status {
        CAY_TASK_WORKING,
        CAY_TASK_INPUT, /* waits for answers */
        CAY_TASK_COMPLETED,
        CAY_TASK_FAILED,
        CAY_TASK_CANCELLED
};

struct cay_mcp_waiter { /* a tasks/result; its call's state */
        struct cay_mcp_waiter *next;
        struct cay_mcp_call *call;
        struct cay_mcp_task *task; /* NULL: was told */
};

struct cay_mcp_task_ask { /* a question without an answer */
        char key[24];     /* never used twice in a task */
        const char *method;
        char *params; /* owned; JSON, an object */
};

struct cay_mcp_task {
        struct cay_mcp_task *next;
        struct cay_mcp *mcp;
        struct cay_mcp_client client; /* of its call alone */
        struct cay_mcp_link link;     /* link.call NULL: it has ended */
        char id[CAY_MCP_ID + 1];
        bool is_modern;
        enum cay_mcp_task_status status;
        uint64_t created_ms, created_wall_ms, changed_wall_ms, ttl_ms;
        struct cay_buf outcome; /* JSON; empty: none */
        struct cay_budget budget;
        struct cay_budget_owner *owner; /* NULL: the outcome is not counted */
        bool is_error;                  /* of JSON-RPC */
        struct cay_mcp_waiter *waiters;
        struct cay_mcp_task_ask asks[CAY_MCP_TASK_ASKS_MAX];
        unsigned ask_count, next_key;
        void (*on_input)(struct cay_mcp_call *c, const struct cay_json_value *answer, unsigned left);
};

static inline bool cay_mcp_task_is_over(const struct cay_mcp_task *t)
{
        return t->status != CAY_TASK_WORKING && t->status != CAY_TASK_INPUT;
}

void cay_mcp_task_become(struct cay_mcp_task *t, enum cay_mcp_task_status status);

void cay_mcp_task_put_head(const struct cay_mcp_task *t, struct cay_json *j);
void cay_mcp_task_wake(struct cay_mcp_task *t); /* it has ended: whoever waits is told */

/* task_input.c */
void cay_mcp_task_put_asks(const struct cay_mcp_task *t,
                           struct cay_json *j); /* an object of requests by key */
void cay_mcp_task_drop_asks(struct cay_mcp_task *t);
void cay_mcp_task_prompt(
        struct cay_mcp_task *t); /* legacy era: asks through somebody who waits, if there is one */
/* Modern era: answers by key. -1: one is no answer at all, and nothing has happened. */
int cay_mcp_task_take_answers(struct cay_mcp_task *t, const struct cay_json_value *responses);
