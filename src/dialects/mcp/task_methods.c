/* SPDX-License-Identifier: Apache-2.0 */
/* Methods about tasks. */
#include <stdlib.h>
#include <string.h>

#include "dialects/mcp/library.h"
#include "dialects/mcp/task_priv.h"

bool cay_mcp_refuse_no_tasks(struct cay_mcp_call *c)
{
        if (!c->is_modern || c->can_task)
                return false;
        cay_mcp_call_error(
                c, CAY_RPC_NEEDS_CAPABILITY,
                "{\"requiredCapabilities\":{\"extensions\":{\"io.modelcontextprotocol/tasks\":{}}}}",
                "this needs the extension io.modelcontextprotocol/tasks among the client's capabilities");
        return true;
}

/* NULL: the call was ended with an error. A task of the other era is not there. */
static struct cay_mcp_task *find(struct cay_mcp_call *c)
{
        const char *id = cay_json_value_text(cay_json_value_find(c->rpc.params, "taskId"));

        if (cay_mcp_refuse_no_tasks(c))
                return NULL;
        for (struct cay_mcp_task *t = id ? c->mcp->tasks : NULL; t; t = t->next)
                if (strcmp(t->id, id) == 0 && t->is_modern == c->is_modern &&
                    cay_mcp_task_is_of(t, &c->caller, c->client->sandbox))
                        return t;
        cay_mcp_call_error(c, CAY_RPC_BAD_PARAMS, NULL,
                           "taskId: there is no such task; tasks are forgotten when their time is over");
        return NULL;
}

void cay_mcp_tasks_get(struct cay_mcp_call *c)
{
        const struct cay_mcp_task *t = find(c);
        struct cay_mcp_result r;

        if (!t)
                return;
        cay_mcp_result_begin(&r);
        if (t->is_modern)
                cay_mcp_task_put(t, &r.j);
        else
                cay_mcp_task_put_head(t, &r.j);
        cay_mcp_result_send(&r, c, CAY_MCP_UNCACHED);
}

void cay_mcp_tasks_list(struct cay_mcp_call *c)
{
        struct cay_mcp_result r;

        if (cay_mcp_refuse_cursor(c))
                return;
        cay_mcp_result_begin(&r);
        cay_json_key(&r.j, "tasks");
        cay_json_begin_array(&r.j);
        for (const struct cay_mcp_task *t = c->mcp->tasks; t; t = t->next) {
                if (t->is_modern || !cay_mcp_task_is_of(t, &c->caller, c->client->sandbox))
                        continue;
                cay_json_begin_object(&r.j);
                cay_mcp_task_put_head(t, &r.j);
                cay_json_end_object(&r.j);
        }
        cay_json_end_array(&r.j);
        cay_mcp_result_send(&r, c, CAY_MCP_UNCACHED);
}

/* The modern era has cancelling as a wish that is always fine; the legacy era tells what came of it. */
void cay_mcp_tasks_cancel(struct cay_mcp_call *c)
{
        struct cay_mcp_task *t = find(c);

        if (!t)
                return;
        if (!t->is_modern && cay_mcp_task_is_over(t)) {
                cay_mcp_call_error(c, CAY_RPC_BAD_PARAMS, NULL, "taskId: this task has ended already");
                return;
        }
        if (t->link.call)
                cay_mcp_call_cancel(t->link.call);
        if (t->is_modern)
                cay_mcp_call_done(c);
        else
                cay_mcp_tasks_get(c);
}

/* What is said about a question that was never put, or is answered, is fine. */
void cay_mcp_tasks_update(struct cay_mcp_call *c)
{
        const struct cay_json_value *responses = cay_json_value_find(c->rpc.params, "inputResponses");
        struct cay_mcp_task *t = find(c);

        if (!t)
                return;
        if (cay_json_value_type(responses) != CAY_JSON_OBJECT || cay_mcp_task_take_answers(t, responses) < 0)
                cay_mcp_call_error(
                        c, CAY_RPC_BAD_PARAMS, NULL,
                        "inputResponses: must be an object of objects, by the keys of inputRequests");
        else
                cay_mcp_call_done(c);
}

/* Waiting for the result (legacy era) */

static bool put_member(void *ctx, const char *name, const struct cay_json_value *member)
{
        struct cay_json *j = ctx;

        if (strcmp(name, "_meta") != 0) {
                cay_json_key(j, name);
                cay_json_value_put(j, member);
        }
        return true;
}

static void send_outcome(struct cay_mcp_call *c, const struct cay_mcp_task *t)
{
        const struct cay_json_in_limits limits = { .bytes = CAY_MCP_MESSAGE_MAX, .values = 400000 };
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        struct cay_error err = { 0 };
        struct cay_mcp_result r;

        if (t->status == CAY_TASK_CANCELLED || t->is_error || t->outcome.len == 0 ||
            cay_json_in_parse(cay_buf_data(&t->outcome), t->outcome.len, &limits, &doc, &err) < 0) {
                cay_mcp_call_error(c, CAY_RPC_INTERNAL, NULL, "%s",
                                   t->status == CAY_TASK_CANCELLED ? "the task was cancelled"
                                                                   : "the task came to no result");
                return;
        }
        cay_mcp_result_begin(&r);
        cay_json_value_each(cay_json_in_root(doc), put_member, &r.j);
        cay_json_key(&r.j, "_meta");
        cay_json_begin_object(&r.j);
        cay_json_key(&r.j, "io.modelcontextprotocol/related-task");
        cay_json_begin_object(&r.j);
        cay_op_key_text(&r.j, "taskId", t->id);
        cay_json_end_object(&r.j);
        cay_json_end_object(&r.j);
        cay_mcp_result_send(&r, c, CAY_MCP_UNCACHED);
}

void cay_mcp_task_wake(struct cay_mcp_task *t)
{
        while (t->waiters) {
                struct cay_mcp_waiter *w = t->waiters;

                t->waiters = w->next;
                w->task = NULL;
                send_outcome(w->call, t);
        }
}

static void leave(struct cay_mcp_call *c)
{
        struct cay_mcp_waiter *w = c->state;

        if (!w->task)
                return;
        for (struct cay_mcp_waiter **at = &w->task->waiters; *at; at = &(*at)->next) {
                if (*at == w) {
                        *at = w->next;
                        break;
                }
        }
        w->task = NULL;
}

static void free_waiter(struct cay_mcp_call *c)
{
        leave(c);
        free(c->state);
}

void cay_mcp_tasks_result(struct cay_mcp_call *c)
{
        struct cay_mcp_task *t = find(c);
        struct cay_mcp_waiter *w;

        if (!t)
                return;
        if (cay_mcp_task_is_over(t)) {
                send_outcome(c, t);
                return;
        }
        w = calloc(1, sizeof(*w));
        if (!w) {
                cay_mcp_call_error(c, CAY_RPC_INTERNAL, NULL, "no memory");
                return;
        }
        w->call = c;
        w->task = t;
        w->next = t->waiters;
        t->waiters = w;
        c->state = w;
        c->free_state = free_waiter;
        c->on_cancel = leave; /* cancelling a wait ends nothing */
        cay_mcp_task_prompt(t);
}
