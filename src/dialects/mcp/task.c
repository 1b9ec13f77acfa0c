/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks: made, reported, kept, removed. */
#include "dialects/mcp/task.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/clock.h"
#include "foundation/base/fair.h"
#include "dialects/mcp/subscriber.h"
#include "dialects/mcp/task_priv.h"
#include "dialects/mcp/tools.h"
#include "domain/ops/view.h"

#define TASKS_MAX 1024u
#define TASKS_MAX_OWNER 128u
#define SMALL (4u * 1024) /* bytes of an outcome that are always kept, an error among them */
#define TTL_DEFAULT_MS (60u * 60 * 1000)
#define TTL_MAX_MS (24u * 60 * 60 * 1000)

static const char *const status_words[] = { [CAY_TASK_WORKING] = "working",
                                            [CAY_TASK_INPUT] = "input_required",
                                            [CAY_TASK_COMPLETED] = "completed",
                                            [CAY_TASK_FAILED] = "failed",
                                            [CAY_TASK_CANCELLED] = "cancelled" };

const char *cay_mcp_task_id(const struct cay_mcp_task *t)
{
        return t->id;
}

bool cay_mcp_task_is_of(const struct cay_mcp_task *t, const struct cay_caller *caller, const char *sandbox)
{
        return strcmp(t->client.caller.owner, caller->owner) == 0 && strcmp(t->client.sandbox, sandbox) == 0;
}

/* How it is */

static const char *describe(const struct cay_mcp_task *t)
{
        switch (t->status) {
        case CAY_TASK_WORKING:
                return "The command runs.";
        case CAY_TASK_INPUT:
                return "It waits for an answer of the person.";
        case CAY_TASK_COMPLETED:
                return "The command has ended; its result is there.";
        case CAY_TASK_FAILED:
                return "It could not be done; the result says why.";
        default:
                return "It was cancelled, and the command killed.";
        }
}

void cay_mcp_task_put_head(const struct cay_mcp_task *t, struct cay_json *j)
{
        cay_op_key_text(j, "taskId", t->id);
        cay_op_key_text(j, "status", status_words[t->status]);
        cay_op_key_text(j, "statusMessage", describe(t));
        cay_op_key_time(j, "createdAt", t->created_wall_ms);
        cay_op_key_time(j, "lastUpdatedAt", t->changed_wall_ms);
        cay_op_key_u64(j, t->is_modern ? "ttlMs" : "ttl", t->ttl_ms);
        cay_op_key_u64(j, t->is_modern ? "pollIntervalMs" : "pollInterval", CAY_MCP_TASK_POLL_MS);
}

void cay_mcp_task_put(const struct cay_mcp_task *t, struct cay_json *j)
{
        cay_mcp_task_put_head(t, j);
        if (t->outcome.len > 0) {
                cay_json_key(j, t->is_error ? "error" : "result");
                cay_json_raw(j, cay_buf_data(&t->outcome), t->outcome.len);
        }
        if (t->status == CAY_TASK_INPUT) {
                cay_json_key(j, "inputRequests");
                cay_mcp_task_put_asks(t, j);
        }
}

/* Its call's link */

void cay_mcp_task_become(struct cay_mcp_task *t, enum cay_mcp_task_status status)
{
        t->status = status;
        t->changed_wall_ms = cay_mcp_now(t->mcp);
        if (cay_mcp_task_is_over(t)) {
                cay_mcp_task_drop_asks(t);
                cay_mcp_task_wake(t);
        } else {
                cay_mcp_task_prompt(t);
        }
        cay_mcp_subscribers_tell_task(t->mcp, t);
}

static void note(struct cay_mcp_link *l, const char *json, size_t len)
{
        (void)l;
        (void)json;
        (void)len;
}

/* The legacy era has a tool's failure as the task's. */
static enum cay_mcp_task_status judge(const struct cay_mcp_task *t, const struct cay_rpc *m)
{
        bool failed = cay_json_value_is_true(cay_json_value_find(m->result, "isError"));

        return m->error || (failed && !t->is_modern) ? CAY_TASK_FAILED : CAY_TASK_COMPLETED;
}

static const char no_room[] = "{\"code\":-32603,\"message\":\"no memory is left for the result\"}";

static void answer(struct cay_mcp_link *l, unsigned status, const char *json, size_t len)
{
        struct cay_mcp_task *t = cay_container_of(l, struct cay_mcp_task, link);
        struct cay_rpc_fault fault;
        struct cay_rpc m = { 0 };

        (void)status;
        if (!json) {
                cay_mcp_task_become(t, CAY_TASK_CANCELLED);
                return;
        }
        if (cay_rpc_read(&m, json, len, CAY_MCP_MESSAGE_MAX, &fault) < 0) {
                cay_mcp_task_become(t, CAY_TASK_FAILED);
                return;
        }
        t->is_error = m.error != NULL;
        if (cay_json_value_print(m.error ? m.error : m.result, &t->outcome) < 0) {
                cay_buf_done(&t->outcome);
                cay_buf_puts(&t->outcome, no_room);
                t->is_error = true;
                cay_mcp_task_become(t, CAY_TASK_FAILED);
        } else {
                cay_mcp_task_become(t, judge(t, &m));
        }
        cay_rpc_done(&m);
}

static size_t queued(struct cay_mcp_link *l)
{
        (void)l;
        return 0;
}

static bool fits(struct cay_mcp_link *l, size_t len)
{
        return cay_buf_check(&cay_container_of(l, struct cay_mcp_task, link)->outcome, len) == 0;
}

static const struct cay_mcp_link_ops link_ops = {
        .note = note, .answer = answer, .queued = queued, .fits = fits
};

/* Forgetting */

static void forget(struct cay_mcp_task **at)
{
        struct cay_mcp_task *t = *at;

        *at = t->next;
        cay_mcp_client_end(&t->client);
        cay_mcp_task_drop_asks(t);
        cay_mcp_task_wake(t);
        cay_buf_done(&t->outcome);
        cay_budget_owner_put(t->owner);
        free(t);
}

/* When one owner has too many, the task that ended first is evicted early. */
static bool make_room(struct cay_mcp *m, const char *owner)
{
        struct cay_mcp_task **oldest = NULL;
        unsigned count = 0, own = 0;

        for (struct cay_mcp_task **at = &m->tasks; *at; at = &(*at)->next, count++) {
                if (strcmp((*at)->client.caller.owner, owner) != 0)
                        continue;
                own++;
                if (cay_mcp_task_is_over(*at) &&
                    (!oldest || (*at)->changed_wall_ms <= (*oldest)->changed_wall_ms))
                        oldest = at;
        }
        if (cay_fair_has_room(TASKS_MAX, TASKS_MAX_OWNER, count, own))
                return true;
        if (oldest)
                forget(oldest);
        return oldest;
}

/* Making one */

static struct cay_mcp_task *make(struct cay_mcp_call *c, uint64_t ttl_ms)
{
        struct cay_mcp *m = c->mcp;
        struct cay_mcp_task *t = make_room(m, c->caller.owner) ? calloc(1, sizeof(*t)) : NULL;

        if (t && m->world->budgets)
                t->owner = cay_budget_owner_get(m->world->budgets, c->caller.owner);
        if (!t || (m->world->budgets && !t->owner) || !cay_mcp_make_id(t->id)) {
                if (t)
                        cay_budget_owner_put(t->owner);
                free(t);
                return NULL;
        }
        t->mcp = m;
        t->is_modern = c->is_modern;
        t->created_ms = cay_clock_ms();
        t->created_wall_ms = t->changed_wall_ms = cay_mcp_now(m);
        t->ttl_ms = ttl_ms;
        t->link.ops = &link_ops;
        t->client = (struct cay_mcp_client){ .mcp = m, .caller = c->caller, .level = CAY_MCP_SILENT };
        memcpy(t->client.sandbox, c->client->sandbox, sizeof(t->client.sandbox));
        memcpy(t->client.version, c->client->version, sizeof(t->client.version));
        cay_buf_init(&t->outcome, CAY_MCP_RESULT_MAX + 4096);
        if (t->owner) {
                t->budget = (struct cay_budget){ .parent = &t->owner->kept, .small = SMALL };
                cay_buf_charge(&t->outcome, &t->budget);
        }
        t->next = m->tasks;
        m->tasks = t;
        return t;
}

/* The request's answer: the task, as its era has it. */
static void send_task(const struct cay_mcp_task *t, const struct cay_mcp_call *c, struct cay_mcp_link *link)
{
        cay_auto_buf struct cay_buf out = { 0 }, json = { 0 };
        struct cay_json j;

        cay_buf_init(&json, 8192);
        cay_buf_init(&out, 8192 + CAY_RPC_ID_MAX);
        cay_json_init(&j, &json);
        cay_json_begin_object(&j);
        if (t->is_modern) {
                cay_op_key_text(&j, "resultType", "task");
                cay_mcp_task_put_head(t, &j);
                cay_mcp_put_server_info(&j);
        } else {
                cay_json_key(&j, "task");
                cay_json_begin_object(&j);
                cay_mcp_task_put_head(t, &j);
                cay_json_end_object(&j);
        }
        cay_json_end_object(&j);
        if (cay_json_end(&j) == 0)
                cay_rpc_put_result(&out, c->rpc.id, cay_buf_data(&json), json.len);
        link->ops->answer(link, 0, cay_buf_data(&out), out.len);
}

static bool move(struct cay_mcp_call *c, uint64_t ttl_ms)
{
        struct cay_mcp_task *t = make(c, ttl_ms);
        struct cay_mcp_link *link = c->link;

        if (!t)
                return false;
        cay_mcp_call_move(c, &t->client, &t->link);
        c->is_task = true;
        c->rpc.progress[0] = '\0';
        c->level = CAY_MCP_SILENT;
        send_task(t, c, link);
        return true;
}

bool cay_mcp_task_make(struct cay_mcp_call *c)
{
        return move(c, TTL_DEFAULT_MS);
}

bool cay_mcp_task_take(struct cay_mcp_call *c)
{
        const struct cay_json_value *task = cay_json_value_find(c->rpc.params, "task");
        int64_t ttl = TTL_DEFAULT_MS;

        if (!task || c->is_modern)
                return true;
        if (cay_json_value_type(task) != CAY_JSON_OBJECT) {
                cay_mcp_call_error(c, CAY_RPC_BAD_PARAMS, NULL, "task: must be an object");
                return false;
        }
        if (!(c->tool->flags & CAY_TOOL_LONG)) {
                cay_mcp_call_error(c, CAY_RPC_NO_METHOD, NULL, "%s cannot be a task: call it without",
                                   c->tool->name);
                return false;
        }
        cay_json_value_i64(cay_json_value_find(task, "ttl"), &ttl);
        if (ttl <= 0 || ttl > (int64_t)TTL_MAX_MS)
                ttl = ttl <= 0 ? TTL_DEFAULT_MS : TTL_MAX_MS;
        if (move(c, (uint64_t)ttl))
                return true;
        cay_mcp_call_error(c, CAY_RPC_INTERNAL, NULL, "there are too many tasks: wait for some to end");
        return false;
}

void cay_mcp_tasks_sweep(struct cay_mcp *m)
{
        uint64_t now = cay_clock_ms();

        for (struct cay_mcp_task **at = &m->tasks; *at;) {
                if (now - (*at)->created_ms > (*at)->ttl_ms)
                        forget(at);
                else
                        at = &(*at)->next;
        }
}

void cay_mcp_tasks_stop(struct cay_mcp *m)
{
        while (m->tasks)
                forget(&m->tasks);
}
