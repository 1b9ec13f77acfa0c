/* SPDX-License-Identifier: Apache-2.0 */
/* Results of tools: as text and as a structure, failures with advice, questions to the user. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "dialects/mcp/mcp_priv.h"
#include "dialects/mcp/task.h"
#include "dialects/mcp/tools.h"

#define TEXT_MAX 2048u

void cay_mcp_put_text(struct cay_json *j, const char *text, size_t len)
{
        cay_json_begin_object(j);
        cay_op_key_text(j, "type", "text");
        cay_json_key(j, "text");
        cay_json_string(j, text, len);
        cay_json_end_object(j);
}

struct picking {
        struct cay_json *j;
        const char *picks;
        size_t left_out; /* rows of a list that is longer than a model can want */
        bool is_bounded;
};

static bool pick(void *ctx, const char *name, const struct cay_json_value *member)
{
        struct picking *p = ctx;
        enum cay_json_type type = cay_json_value_type(member);

        if (!cay_mcp_is_word_of(p->picks, name))
                return true;
        cay_json_key(p->j, name);
        if (type != CAY_JSON_ARRAY || cay_json_value_type(cay_json_value_at(member, 0)) != CAY_JSON_OBJECT) {
                cay_json_value_put(p->j, member);
                return true;
        }
        cay_json_begin_array(p->j);
        for (size_t i = 0; i < cay_json_value_count(member); i++) {
                if (p->is_bounded && p->j->out->len > CAY_MCP_TEXT_MAX) {
                        p->left_out += cay_json_value_count(member) - i;
                        break;
                }
                cay_json_begin_object(p->j);
                cay_json_value_each(cay_json_value_at(member, i), pick, p);
                cay_json_end_object(p->j);
        }
        cay_json_end_array(p->j);
        return true;
}

void cay_mcp_tool_send(struct cay_mcp_call *c, const char *json, size_t len)
{
        struct cay_mcp_result r;

        cay_mcp_result_begin(&r);
        cay_json_key(&r.j, "content");
        cay_json_begin_array(&r.j);
        cay_mcp_put_text(&r.j, json, len);
        cay_json_end_array(&r.j);
        cay_json_key(&r.j, "structuredContent");
        cay_json_raw(&r.j, json, len);
        cay_mcp_result_send(&r, c, CAY_MCP_UNCACHED);
}

void cay_mcp_tool_answer(struct cay_mcp_call *c, const struct cay_json_value *json, const char *picks,
                         const char *advice)
{
        cay_auto_buf struct cay_buf text = { 0 };
        struct picking p = { .picks = picks, .is_bounded = !cay_mcp_arg(c, "limit") };
        struct cay_json j;

        cay_buf_init(&text, CAY_MCP_RESULT_MAX / 2);
        cay_json_init(&j, &text);
        p.j = &j;
        if (picks) {
                cay_json_begin_object(&j);
                cay_json_value_each(json, pick, &p);
                if (advice)
                        cay_op_key_text(&j, "next", advice);
                if (p.left_out > 0)
                        cay_op_key_u64(&j, "left_out", p.left_out);
                cay_json_end_object(&j);
        } else {
                cay_json_value_put(&j, json);
        }
        if (cay_json_end(&j) < 0) {
                cay_mcp_tool_fail(c, "Ask for less of it: with a limit, or a narrower path.",
                                  "the answer is too large");
                return;
        }
        cay_mcp_tool_send(c, cay_buf_data(&text), text.len);
}

static void send_failure(struct cay_mcp_call *c, const char *code, const char *text, const char *advice,
                         const char *token)
{
        char words[TEXT_MAX];
        struct cay_mcp_result r;

        snprintf(words, sizeof(words), "%s%s%s%s%s", text, advice && advice[0] ? "\n" : "",
                 advice ? advice : "", token ? "\nconfirm_token: " : "", token ? token : "");
        cay_mcp_result_begin(&r);
        cay_json_key(&r.j, "content");
        cay_json_begin_array(&r.j);
        cay_mcp_put_text(&r.j, words, strlen(words));
        cay_json_end_array(&r.j);
        cay_json_key(&r.j, "structuredContent");
        cay_json_begin_object(&r.j);
        cay_op_key_text(&r.j, "error", code);
        cay_op_key_text(&r.j, "message", text);
        if (advice)
                cay_op_key_text(&r.j, "advice", advice);
        if (token) {
                cay_op_key_bool(&r.j, "needs_confirm", true);
                cay_op_key_text(&r.j, "confirm_token", token);
        }
        cay_json_end_object(&r.j);
        cay_op_key_bool(&r.j, "isError", true);
        cay_mcp_result_send(&r, c, CAY_MCP_UNCACHED);
}

void cay_mcp_tool_fail(struct cay_mcp_call *c, const char *advice, const char *fmt, ...)
{
        char text[1024];
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(text, sizeof(text), fmt, ap);
        va_end(ap);
        send_failure(c, "invalid", text, advice, NULL);
}

static bool takes(const struct cay_mcp_tool *t, const char *param)
{
        for (const struct cay_tool_param *p = t->params; p->name; p++)
                if (strcmp(p->name, param) == 0)
                        return true;
        return false;
}

static bool is_sandbox_there(const struct cay_mcp_call *c)
{
        struct cay_viewer viewer = cay_mcp_viewer(&c->caller);
        const char *id = cay_mcp_arg_sandbox(c);
        struct cay_sandbox_view view;
        struct cay_error err = { 0 };

        return id && cay_service_get(c->mcp->world->service, &viewer, id, &view, &err) == 0;
}

static const char *advise_missing(const struct cay_mcp_call *c)
{
        bool is_there = is_sandbox_there(c);

        if (is_there && takes(c->tool, "exec_id"))
                return "Take the exec_id that a command of this very sandbox came back with; those that "
                       "ended "
                       "long ago are forgotten.";
        if (is_there && takes(c->tool, "path"))
                return "list_files shows what there is; a relative path is below the workspace.";
        if (c->client->sandbox[0])
                return "This sandbox has ended; tell the person.";
        return "Sandboxes end by themselves after a while, and with the session when they have no name. "
               "sandbox_list shows those that are there; sandbox_create makes one.";
}

/* What a model can do about it. */
static const char *advice_for(const struct cay_mcp_call *c, const struct cay_mcp_op_call *q)
{
        bool is_path = takes(c->tool, "path"), is_exec = takes(c->tool, "exec_id");

        if (q->field && strcmp(q->field, "template") == 0)
                return "container_list lists the templates.";
        if (q->field && strcmp(q->field, "language") == 0)
                return "python, javascript, shell and bash are known by name. For others name a template "
                       "that has "
                       "it "
                       "(container_list), or write the program to a file and run it with run_command.";
        switch (q->err.code) {
        case CAY_NOT_FOUND:
                return advise_missing(c);
        case CAY_INVALID:
                return is_path && q->err.reason == CAY_REASON_NOT_A_FILE ? "list_files lists folders." : NULL;
        case CAY_CONFLICT:
                return is_path   ? "list_files shows what is there."
                       : is_exec ? "exec_poll shows how it ended and what it printed; start another with "
                                   "run_command."
                                 : "Look at the state first, with sandbox_info.";
        case CAY_LIMIT:
                return q->err.reason == CAY_REASON_COMMANDS
                               ? "End commands that are no longer needed (exec_signal with KILL)."
                       : q->err.reason == CAY_REASON_SANDBOXES
                               ? "Destroy what is no longer needed (sandbox_destroy), or ask for less."
                               : "Wait until other calls have ended and try again, or ask for less.";
        case CAY_TIMEOUT:
        case CAY_UNAVAILABLE:
                return "Try again in a moment.";
        case CAY_DENIED:
                return is_path && q->err.reason != CAY_REASON_SCOPE
                               ? "The sandbox's user may not do that there: work below the workspace or in "
                                 "/tmp."
                               : "This token may not do that; tell the person.";
        default:
                return NULL;
        }
}

/* Messages begin with the op's name for a field; models know the tool's. */
static void rename_field(const struct cay_mcp_tool *t, const char *msg, char *out, size_t size)
{
        size_t len = strcspn(msg, ":");

        for (const struct cay_tool_param *p = t->params; p->name; p++) {
                if (p->field && msg[len] == ':' && strlen(p->field) == len &&
                    strncmp(p->field, msg, len) == 0) {
                        snprintf(out, size, "%s%s", p->name, msg + len);
                        return;
                }
        }
        snprintf(out, size, "%s", msg);
}

void cay_mcp_tool_fail_asked(struct cay_mcp_call *c, const struct cay_mcp_op_call *q)
{
        char text[TEXT_MAX / 2];

        if (c->has_state && strncmp(q->err.msg, "confirm:", 8) == 0) { /* which was in requestState */
                cay_mcp_call_error(c, CAY_RPC_BAD_PARAMS, NULL, "requestState%s", strchr(q->err.msg, ':'));
                return;
        }
        rename_field(c->tool, q->err.msg, text, sizeof(text));
        send_failure(c, cay_code_word(q->err.code), text, advice_for(c, q), NULL);
}

/* Confirmations */

bool cay_mcp_is_approved(const struct cay_json_value *answer)
{
        const char *action = cay_json_value_text(cay_json_value_find(answer, "action"));
        const struct cay_json_value *content = cay_json_value_find(answer, "content");

        return action && strcmp(action, "accept") == 0 &&
               cay_json_value_is_true(cay_json_value_find(content, "approve"));
}

void cay_mcp_tool_decline(struct cay_mcp_call *c)
{
        send_failure(c, "declined", "the person did not approve this", "Do not try it again unasked.", NULL);
}

static void on_reply(struct cay_mcp_call *c, const struct cay_json_value *result)
{
        if (cay_mcp_is_approved(result))
                c->tool->run(c);
        else
                cay_mcp_tool_decline(c);
}

static void on_input(struct cay_mcp_call *c, const struct cay_json_value *answer, unsigned left)
{
        (void)left; /* there was one question */
        on_reply(c, answer);
}

static void ask_in_task(struct cay_mcp_call *c, const char *message)
{
        cay_auto_buf struct cay_buf params = { 0 };
        struct cay_mcp_question question = { .method = "elicitation/create" };
        struct cay_json j;

        cay_buf_init(&params, 8192);
        cay_json_init(&j, &params);
        cay_mcp_put_elicit(&j, message);
        if (cay_json_end(&j) < 0) {
                cay_mcp_call_error(c, CAY_RPC_INTERNAL, NULL, "no memory for a question");
                return;
        }
        question.params = cay_buf_data(&params);
        cay_mcp_task_ask(c, &question, 1, on_input);
}

static void ask_modern(struct cay_mcp_call *c, const char *message)
{
        struct cay_mcp_result r;

        cay_mcp_result_begin(&r);
        cay_json_key(&r.j, "inputRequests");
        cay_json_begin_object(&r.j);
        cay_json_key(&r.j, "confirm");
        cay_json_begin_object(&r.j);
        cay_op_key_text(&r.j, "method", "elicitation/create");
        cay_json_key(&r.j, "params");
        cay_mcp_put_elicit(&r.j, message);
        cay_json_end_object(&r.j);
        cay_json_end_object(&r.j);
        cay_op_key_text(&r.j, "requestState", c->confirm);
        cay_mcp_result_send(&r, c, CAY_MCP_UNCACHED);
}

/*
 * The token is bound to its owner and to all arguments, works once and for minutes (domain/ops/confirm.h): it
 * is all the state that a second request needs.
 */
bool cay_mcp_tool_confirm(struct cay_mcp_call *c, const struct cay_mcp_op_call *q)
{
        char message[400];

        if (!q->confirm[0])
                return false;
        snprintf(message, sizeof(message), "%s: %s. Allow it?", c->tool->title, q->err.msg);
        memcpy(c->confirm, q->confirm, sizeof(c->confirm));
        if (c->can_elicit && c->is_task) {
                ask_in_task(c, message);
        } else if (c->can_elicit && c->is_modern) {
                c->asks_input = true;
                ask_modern(c, message);
        } else if (c->can_elicit) {
                cay_mcp_call_elicit(c, message, on_reply);
        } else {
                c->confirm[0] = '\0';
                send_failure(c, "needs_confirm", q->err.msg,
                             "Ask the person. If they agree, call the tool again with the same arguments and "
                             "confirm_token.",
                             q->confirm);
        }
        return true;
}
