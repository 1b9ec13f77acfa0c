/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks: calls of tools that outlive the request that made them. Both forms of the protocol: the legacy era's
 * client requests one with `task` and gets it immediately; in the modern era the server turns a long call
 * into a task, for clients that support tasks.
 *
 * Theory of operation. A task takes over its call: the call moves to the task's own client and link, and the
 * request is answered with the task. The call's answer is kept as the task's result. A task belongs to its
 * owner and address. It survives its session and its connection, is removed when it expires, and ends with
 * the daemon.
 *
 * A call that needs an answer of the user suspends its task (input_required). In the modern era tasks/get
 * returns the questions, and tasks/update has the answers; in the legacy era they are asked, one after the
 * other, as requests on the stream of a tasks/result.
 */
#pragma once

#include "dialects/mcp/call.h"

struct cay_mcp_task;

/*
 * Makes one of a call under way and answers its request. False: there is no room, and nothing has happened.
 */
bool cay_mcp_task_make(struct cay_mcp_call *c);
/* The legacy era's `task` of tools/call. False: the call was ended with an error. */
bool cay_mcp_task_take(struct cay_mcp_call *c);

#define CAY_MCP_TASK_ASKS_MAX 4u

struct cay_mcp_question {
        const char *method; /* static */
        const char *params; /* JSON, an object; copied */
};
/*
 * The call of a task (is_task) asks its client. on_input is called for each answer, with how many are still
 * open.
 */
void cay_mcp_task_ask(struct cay_mcp_call *c, const struct cay_mcp_question *questions, unsigned count,
                      void (*on_input)(struct cay_mcp_call *c, const struct cay_json_value *answer,
                                       unsigned left));

const char *cay_mcp_task_id(const struct cay_mcp_task *t);
bool cay_mcp_task_is_of(const struct cay_mcp_task *t, const struct cay_caller *caller, const char *sandbox);
/* Its members, as the modern era has them, into an open object. */
void cay_mcp_task_put(const struct cay_mcp_task *t, struct cay_json *j);
void cay_mcp_tasks_sweep(struct cay_mcp *m); /* forgets those whose time is over */
void cay_mcp_tasks_stop(struct cay_mcp *m);

/* Methods. */
void cay_mcp_tasks_get(struct cay_mcp_call *c);
void cay_mcp_tasks_list(struct cay_mcp_call *c);
void cay_mcp_tasks_result(struct cay_mcp_call *c);
void cay_mcp_tasks_cancel(struct cay_mcp_call *c);
void cay_mcp_tasks_update(struct cay_mcp_call *c);
