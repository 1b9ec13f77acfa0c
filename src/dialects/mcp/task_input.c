/* SPDX-License-Identifier: Apache-2.0 */
/* Questions of tasks: put, told, answered. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/mcp/task_priv.h"
#include "domain/ops/view.h"

void cay_mcp_task_drop_asks(struct cay_mcp_task *t)
{
        while (t->ask_count > 0)
                free(t->asks[--t->ask_count].params);
}

void cay_mcp_task_ask(struct cay_mcp_call *c, const struct cay_mcp_question *questions, unsigned count,
                      void (*on_input)(struct cay_mcp_call *c, const struct cay_json_value *answer,
                                       unsigned left))
{
        struct cay_mcp_task *t = cay_container_of(c->link, struct cay_mcp_task, link);

        cay_mcp_task_drop_asks(t);
        for (unsigned i = 0; i < count && i < CAY_MCP_TASK_ASKS_MAX; i++) {
                struct cay_mcp_task_ask *a = &t->asks[t->ask_count];

                a->method = questions[i].method;
                a->params = strdup(questions[i].params);
                snprintf(a->key, sizeof(a->key), "input-%u", ++t->next_key);
                if (!a->params) {
                        cay_mcp_call_error(c, CAY_RPC_INTERNAL, NULL, "no memory for a question");
                        return;
                }
                t->ask_count++;
        }
        t->on_input = on_input;
        cay_mcp_task_become(t, CAY_TASK_INPUT);
}

void cay_mcp_task_put_asks(const struct cay_mcp_task *t, struct cay_json *j)
{
        cay_json_begin_object(j);
        for (unsigned i = 0; i < t->ask_count; i++) {
                cay_json_key(j, t->asks[i].key);
                cay_json_begin_object(j);
                cay_op_key_text(j, "method", t->asks[i].method);
                cay_json_key(j, "params");
                cay_json_raw(j, t->asks[i].params, strlen(t->asks[i].params));
                cay_json_end_object(j);
        }
        cay_json_end_object(j);
}

/* The call goes on with it, and may end the task. */
static void answer(struct cay_mcp_task *t, unsigned i, const struct cay_json_value *said)
{
        free(t->asks[i].params);
        t->ask_count--;
        memmove(&t->asks[i], &t->asks[i + 1], (t->ask_count - i) * sizeof(t->asks[0]));
        if (t->ask_count == 0)
                cay_mcp_task_become(t, CAY_TASK_WORKING);
        if (t->link.call)
                t->on_input(t->link.call, said, t->ask_count);
}

int cay_mcp_task_take_answers(struct cay_mcp_task *t, const struct cay_json_value *responses)
{
        unsigned newest = t->next_key; /* what is asked in reply to these was not known to who sent them */
        unsigned i = 0;

        for (unsigned k = 0; k < t->ask_count; k++) {
                const struct cay_json_value *said = cay_json_value_find(responses, t->asks[k].key);

                if (said && cay_json_value_type(said) != CAY_JSON_OBJECT)
                        return -1;
        }
        while (i < t->ask_count && t->next_key == newest) {
                const struct cay_json_value *said = cay_json_value_find(responses, t->asks[i].key);

                if (said)
                        answer(t, i, said);
                else
                        i++;
        }
        return 0;
}

/* The legacy era */

static void on_reply(struct cay_mcp_call *c, const struct cay_json_value *result)
{
        const struct cay_mcp_waiter *w = c->state;
        struct cay_mcp_task *t = w->task;

        if (!t || t->ask_count == 0)
                return;
        answer(t, 0, result);
        cay_mcp_task_prompt(t);
}

void cay_mcp_task_prompt(struct cay_mcp_task *t)
{
        cay_auto_buf struct cay_buf params = { 0 };
        const struct cay_mcp_waiter *w = t->waiters;

        for (const struct cay_mcp_waiter *o = w; o; o = o->next)
                if (o->call->question[0])
                        return; /* one is being asked */
        while (w && !w->call->can_elicit)
                w = w->next;
        if (t->is_modern || t->ask_count == 0 || !w)
                return;
        cay_buf_init(&params, 64 * 1024);
        if (cay_buf_printf(&params,
                           "{\"_meta\":{\"io.modelcontextprotocol/related-task\":{\"taskId\":\"%s\"}},%s",
                           t->id, t->asks[0].params + 1) == 0)
                cay_mcp_call_request(w->call, t->asks[0].method, cay_buf_data(&params), on_reply);
}
