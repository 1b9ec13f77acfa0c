/* SPDX-License-Identifier: Apache-2.0 */
/* Tools listed and called: arguments checked and handed on, results in both forms. */
#include "dialect/mcp/tools.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "dialect/mcp/library.h"

#define TEXT_MAX 2048u

/* The list */

static bool is_there(const struct cay_mcp_tool *t, const struct cay_mcp_party *p)
{
        return cay_op_find(t->op) && !(p->sandbox[0] && t->flags & CAY_TOOL_FLEET);
}

static bool has_sandbox_param(const struct cay_mcp_tool *t, const struct cay_mcp_party *p)
{
        return t->flags & CAY_TOOL_IN_SANDBOX && !p->sandbox[0];
}

static void put_tool(struct cay_json *j, const struct cay_mcp_tool *t, const struct cay_mcp_party *p)
{
        cay_json_begin_object(j);
        cay_op_key_text(j, "name", t->name);
        cay_op_key_text(j, "title", t->title);
        cay_op_key_text(j, "description", t->doc);
        cay_json_key(j, "inputSchema");
        cay_mcp_put_schema(j, t, has_sandbox_param(t, p));
        cay_json_key(j, "annotations");
        cay_json_begin_object(j);
        cay_op_key_bool(j, "readOnlyHint", t->flags & CAY_TOOL_READS);
        cay_op_key_bool(j, "destructiveHint", t->flags & CAY_TOOL_DESTROYS);
        cay_op_key_bool(j, "idempotentHint", t->flags & (CAY_TOOL_REPEATS | CAY_TOOL_READS));
        cay_op_key_bool(j, "openWorldHint", false);
        cay_json_end_object(j);
        cay_json_end_object(j);
}

bool cay_mcp_refuse_cursor(struct cay_mcp_call *c)
{
        if (!cay_json_value_find(c->rpc.params, "cursor"))
                return false;
        cay_mcp_call_error(c, CAY_RPC_BAD_PARAMS, NULL, "cursor: is none of ours; all of it is in one page");
        return true;
}

void cay_mcp_tools_list(struct cay_mcp_call *c)
{
        struct cay_mcp_result r;

        if (cay_mcp_refuse_cursor(c))
                return;
        cay_mcp_result_begin(&r);
        cay_json_key(&r.j, "tools");
        cay_json_begin_array(&r.j);
        for (unsigned i = 0; i < cay_mcp_tool_count; i++)
                if (is_there(&cay_mcp_tools[i], c->party))
                        put_tool(&r.j, &cay_mcp_tools[i], c->party);
        cay_json_end_array(&r.j);
        cay_mcp_result_send(&r, c, CAY_MCP_PUBLIC);
}

/* Arguments */

static bool is_word_of(const char *words, const char *name)
{
        size_t len = strlen(name);

        for (const char *at = words; at && *at;) {
                size_t n = strcspn(at, " ");

                if (n == len && memcmp(at, name, n) == 0)
                        return true;
                at += n;
                at += strspn(at, " ");
        }
        return false;
}

static const char sandbox_words[] = "sandbox_id id name sandbox container_id container sandboxId";

static const struct cay_mcp_param *find_param(const struct cay_mcp_tool *t, const char *name)
{
        for (const struct cay_mcp_param *p = t->params; p->name; p++)
                if (strcmp(p->name, name) == 0)
                        return p;
        for (const struct cay_mcp_param *p = t->params; p->name; p++)
                if (is_word_of(p->words, name))
                        return p;
        return NULL;
}

static bool is_sandbox(const struct cay_mcp_call *c, const char *name)
{
        return has_sandbox_param(c->tool, c->party) && is_word_of(sandbox_words, name);
}

struct search {
        const struct cay_mcp_call *call;
        const struct cay_mcp_param *param; /* NULL: the sandbox */
        const struct cay_json_value *found;
        const char *stranger;
        unsigned count; /* members that mean the same */
};

static bool look(void *ctx, const char *name, const struct cay_json_value *member)
{
        struct search *s = ctx;
        const struct cay_mcp_param *p = find_param(s->call->tool, name);

        if (s->param ? p == s->param : !p && is_sandbox(s->call, name)) {
                s->found = member;
                s->count++;
        } else if (!p && !is_sandbox(s->call, name)) {
                s->stranger = name;
        }
        return true;
}

static struct search search(const struct cay_mcp_call *c, const struct cay_mcp_param *param)
{
        struct search s = { .call = c, .param = param };

        cay_json_value_each(c->args, look, &s);
        if (cay_json_value_type(s.found) == CAY_JSON_NULL)
                s.found = NULL; /* models write null for what they do not give */
        return s;
}

const struct cay_json_value *cay_mcp_arg(const struct cay_mcp_call *c, const char *param)
{
        const struct cay_mcp_param *p = find_param(c->tool, param);

        return p ? search(c, p).found : NULL;
}

const char *cay_mcp_arg_text(const struct cay_mcp_call *c, const char *param)
{
        return cay_json_value_text(cay_mcp_arg(c, param));
}

bool cay_mcp_arg_bool(const struct cay_mcp_call *c, const char *param, bool otherwise)
{
        const struct cay_json_value *v = cay_mcp_arg(c, param);

        return cay_json_value_type(v) == CAY_JSON_BOOL ? cay_json_value_is_true(v) : otherwise;
}

uint64_t cay_mcp_arg_u64(const struct cay_mcp_call *c, const char *param, uint64_t otherwise)
{
        int64_t n;

        return cay_json_value_i64(cay_mcp_arg(c, param), &n) && n >= 0 ? (uint64_t)n : otherwise;
}

const char *cay_mcp_arg_sandbox(const struct cay_mcp_call *c)
{
        return c->party->sandbox[0] ? c->party->sandbox : cay_json_value_text(search(c, NULL).found);
}

void cay_mcp_args_begin(const struct cay_mcp_call *c, const struct cay_op *op, struct cay_buf *out,
                        struct cay_json *j)
{
        const char *sandbox = c->tool->flags & CAY_TOOL_IN_SANDBOX ? cay_mcp_arg_sandbox(c) : NULL;

        cay_buf_init(out, 16u * 1024 * 1024);
        cay_json_init(j, out);
        cay_json_begin_object(j);
        if (sandbox && op->fields && cay_field_find(op->fields, "id", 2))
                cay_op_key_text(j, "id", sandbox);
        for (const struct cay_mcp_param *p = c->tool->params; p->name; p++) {
                const struct cay_json_value *v = p->field ? cay_mcp_arg(c, p->name) : NULL;

                if (!v || !op->fields || !cay_field_find(op->fields, p->field, strlen(p->field)))
                        continue;
                if (c->confirm[0] && strcmp(p->field, "confirm") == 0)
                        continue; /* the newer one counts */
                cay_json_key(j, p->field);
                cay_mcp_put_value(j, v);
        }
        if (c->confirm[0] && op->fields && cay_field_find(op->fields, "confirm", strlen("confirm")))
                cay_op_key_text(j, "confirm", c->confirm);
}

/* What the op's table cannot see: names, and the tool's own values. */
static bool check_own(struct cay_mcp_call *c, const struct cay_mcp_param *p)
{
        const struct cay_json_value *v = search(c, p).found;
        enum cay_json_type type = cay_json_value_type(v), wanted;
        int64_t n = 0;

        if (!v)
                return true;
        wanted = p->own->kind == CAY_FIELD_U64    ? CAY_JSON_INTEGER
                 : p->own->kind == CAY_FIELD_BOOL ? CAY_JSON_BOOL
                                                  : CAY_JSON_TEXT;
        if (type != wanted) {
                cay_mcp_tool_fail(c, NULL, "%s: must be %s, not %s", p->name, cay_json_type_word(wanted),
                                  cay_json_type_word(type));
                return false;
        }
        if (wanted == CAY_JSON_INTEGER && cay_json_value_i64(v, &n) &&
            (n < (int64_t)p->own->min || (p->own->max && n > (int64_t)p->own->max))) {
                cay_mcp_tool_fail(c, NULL, "%s: must be from %lld to %lld", p->name, (long long)p->own->min,
                                  (long long)p->own->max);
                return false;
        }
        return true;
}

static void fail_stranger(struct cay_mcp_call *c, const char *name)
{
        char known[512] = "";
        size_t at = 0;

        if (has_sandbox_param(c->tool, c->party))
                at = (size_t)snprintf(known, sizeof(known), "%s ", cay_mcp_sandbox_param(c->tool));
        for (const struct cay_mcp_param *p = c->tool->params; p->name && at < sizeof(known); p++)
                at += (size_t)snprintf(known + at, sizeof(known) - at, "%s ", p->name);
        cay_mcp_tool_fail(c, "Call it again with those names.", "%s has no argument '%.60s'; it takes: %s",
                          c->tool->name, name, known);
}

static bool check_args(struct cay_mcp_call *c)
{
        struct search s = search(c, NULL);
        bool needs = has_sandbox_param(c->tool, c->party) && !(c->tool->flags & CAY_TOOL_MAY_MAKE);

        if (s.stranger) {
                fail_stranger(c, s.stranger);
                return false;
        }
        if (s.found && !cay_json_value_text(s.found)) {
                cay_mcp_tool_fail(c, NULL, "%s: must be a text", cay_mcp_sandbox_param(c->tool));
                return false;
        }
        if (needs && !s.found) {
                cay_mcp_tool_fail(c, "Make one with sandbox_create, or look for yours with sandbox_list.",
                                  "%s: is required", cay_mcp_sandbox_param(c->tool));
                return false;
        }
        for (const struct cay_mcp_param *p = c->tool->params; p->name; p++) {
                struct search given = search(c, p);

                if (given.count > 1) {
                        cay_mcp_tool_fail(c, NULL, "%s: is given more than once", p->name);
                        return false;
                }
                if (p->is_required && !given.found) {
                        cay_mcp_tool_fail(c, NULL, "%s: is required", p->name);
                        return false;
                }
                if (p->own && !check_own(c, p))
                        return false;
        }
        return true;
}

static const char declined[] = "the person did not approve this";

static bool is_approved(const struct cay_json_value *answer)
{
        const char *action = cay_json_value_text(cay_json_value_find(answer, "action"));
        const struct cay_json_value *content = cay_json_value_find(answer, "content");

        return action && strcmp(action, "accept") == 0 &&
               cay_json_value_is_true(cay_json_value_find(content, "approve"));
}

static void send_failure(struct cay_mcp_call *c, const char *code, const char *text, const char *advice,
                         const char *token);

/* The modern era's second request: the same again, with what the person said. */
static bool take_input(struct cay_mcp_call *c)
{
        const struct cay_json_value *responses = cay_json_value_find(c->rpc.params, "inputResponses");
        const struct cay_json_value *answer = cay_json_value_find(responses, "confirm");
        const char *state = cay_json_value_text(cay_json_value_find(c->rpc.params, "requestState"));

        if (!c->is_modern || !responses)
                return true;
        if (cay_json_value_type(responses) != CAY_JSON_OBJECT ||
            (answer && cay_json_value_type(answer) != CAY_JSON_OBJECT) ||
            (state && strlen(state) >= sizeof(c->confirm))) {
                cay_mcp_call_error(c, CAY_RPC_BAD_PARAMS, NULL, "inputResponses, requestState: are none");
                return false;
        }
        if (!answer || !state)
                return true; /* it is asked again */
        if (!is_approved(answer)) {
                send_failure(c, "declined", declined, "Do not try it again unasked.", NULL);
                return false;
        }
        snprintf(c->confirm, sizeof(c->confirm), "%s", state);
        return true;
}

void cay_mcp_tools_call(struct cay_mcp_call *c)
{
        const char *name = cay_json_value_text(cay_json_value_find(c->rpc.params, "name"));

        c->args = cay_json_value_find(c->rpc.params, "arguments");
        if (cay_json_value_type(c->args) == CAY_JSON_NULL)
                c->args = NULL;
        if (!name || (c->args && cay_json_value_type(c->args) != CAY_JSON_OBJECT)) {
                cay_mcp_call_error(c, CAY_RPC_BAD_PARAMS, NULL, "%s",
                                   name ? "arguments: must be an object" : "name: must be a text");
                return;
        }
        for (unsigned i = 0; i < cay_mcp_tool_count; i++)
                if (strcmp(cay_mcp_tools[i].name, name) == 0 && is_there(&cay_mcp_tools[i], c->party))
                        c->tool = &cay_mcp_tools[i];
        if (!c->tool)
                cay_mcp_call_error(c, CAY_RPC_BAD_PARAMS, NULL, "there is no tool %.80s", name);
        else if (take_input(c) && check_args(c))
                c->tool->run(c);
}

/* Results */

static void put_text(struct cay_json *j, const char *text, size_t len)
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
};

static bool pick(void *ctx, const char *name, const struct cay_json_value *member)
{
        struct picking *p = ctx;
        enum cay_json_type type = cay_json_value_type(member);

        if (!is_word_of(p->picks, name))
                return true;
        cay_json_key(p->j, name);
        if (type != CAY_JSON_ARRAY || cay_json_value_type(cay_json_value_at(member, 0)) != CAY_JSON_OBJECT) {
                cay_mcp_put_value(p->j, member);
                return true;
        }
        cay_json_begin_array(p->j);
        for (size_t i = 0; i < cay_json_value_count(member); i++) {
                cay_json_begin_object(p->j);
                cay_json_value_each(cay_json_value_at(member, i), pick, p);
                cay_json_end_object(p->j);
        }
        cay_json_end_array(p->j);
        return true;
}

void cay_mcp_tool_answer(struct cay_mcp_call *c, const struct cay_json_value *json, const char *picks,
                         const char *advice)
{
        cay_auto_buf struct cay_buf text = { 0 };
        struct picking p = { .picks = picks };
        struct cay_mcp_result r;
        struct cay_json j;

        cay_buf_init(&text, CAY_MCP_RESULT_MAX / 2);
        cay_json_init(&j, &text);
        p.j = &j;
        if (picks) {
                cay_json_begin_object(&j);
                cay_json_value_each(json, pick, &p);
                if (advice)
                        cay_op_key_text(&j, "next", advice);
                cay_json_end_object(&j);
        } else {
                cay_mcp_put_value(&j, json);
        }
        if (cay_json_end(&j) < 0) {
                cay_mcp_tool_fail(c, "Ask for less of it: with a limit, or a narrower path.",
                                  "the answer is too large");
                return;
        }
        cay_mcp_result_begin(&r);
        cay_json_key(&r.j, "content");
        cay_json_begin_array(&r.j);
        put_text(&r.j, cay_buf_data(&text), text.len);
        cay_json_end_array(&r.j);
        cay_json_key(&r.j, "structuredContent");
        cay_mcp_put_raw(&r.j, cay_buf_data(&text), text.len);
        cay_mcp_result_send(&r, c, CAY_MCP_UNCACHED);
}

static void send_failure(struct cay_mcp_call *c, const char *code, const char *text, const char *advice,
                         const char *token)
{
        char words[TEXT_MAX];
        struct cay_mcp_result r;

        snprintf(words, sizeof(words), "%s%s%s", text, advice && advice[0] ? "\n" : "", advice ? advice : "");
        cay_mcp_result_begin(&r);
        cay_json_key(&r.j, "content");
        cay_json_begin_array(&r.j);
        put_text(&r.j, words, strlen(words));
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

static const char *advice_for(const struct cay_mcp_asked *q)
{
        switch (q->err.code) {
        case CAY_NOT_FOUND:
                return "Sandboxes end by themselves after a while, and with the session when they have no "
                       "name. "
                       "sandbox_list shows those that are there; sandbox_create makes one.";
        case CAY_CONFLICT:
                return "Look at the state first: sandbox_info, or exec_poll with another offset.";
        case CAY_LIMIT:
                return "Destroy what is no longer needed (sandbox_destroy), or ask for less.";
        case CAY_TIMEOUT:
        case CAY_UNAVAILABLE:
                return "Try again in a moment.";
        case CAY_DENIED:
                return "This token may not do that; tell the person.";
        default:
                return NULL;
        }
}

void cay_mcp_tool_fail_asked(struct cay_mcp_call *c, const struct cay_mcp_asked *q)
{
        bool in_fixed = c->party->sandbox[0] != '\0';

        send_failure(c, cay_code_word(q->err.code), q->err.msg,
                     in_fixed && q->err.code == CAY_NOT_FOUND ? NULL : advice_for(q), NULL);
}

/* Confirmations */

static void on_reply(struct cay_mcp_call *c, const struct cay_json_value *result)
{
        if (is_approved(result))
                c->tool->run(c);
        else
                send_failure(c, "declined", declined, "Do not try it again unasked.", NULL);
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
 * The token is bound to its owner and to all that was asked for, works once and for minutes (op/confirm.h): it is all the state that a
 * second request needs.
 */
bool cay_mcp_tool_confirm(struct cay_mcp_call *c, const struct cay_mcp_asked *q)
{
        char message[400];

        if (!q->confirm[0])
                return false;
        snprintf(message, sizeof(message), "%s: %s. Allow it?", c->tool->title, q->err.msg);
        memcpy(c->confirm, q->confirm, sizeof(c->confirm));
        if (c->can_elicit && c->is_modern) {
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
