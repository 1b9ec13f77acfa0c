/* SPDX-License-Identifier: Apache-2.0 */
/* Resources, prompts and completion. */
#include "dialect/mcp/library.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/utf8.h"
#include "dialect/mcp/mcp_priv.h"

#define FILE_MAX (4u * 1024 * 1024)
#define URI_MAX 4600u
#define OUTPUT_MS 1000u
#define VALUES_MAX 100u
#define SYSTEM "/SYSTEM.md"

static void ask(struct cay_mcp_call *c, const char *op, const char *key, const char *value,
                void (*done)(struct cay_mcp_call *c, struct cay_mcp_asked *q))
{
        cay_auto_buf struct cay_buf json = { 0 };
        struct cay_mcp_asked *q = cay_mcp_asked_new(c, done);
        struct cay_json j;

        if (!q)
                return;
        cay_buf_init(&json, 64 * 1024);
        cay_json_init(&j, &json);
        cay_json_begin_object(&j);
        if (key)
                cay_op_key_text(&j, key, value);
        cay_json_end_object(&j);
        cay_mcp_ask(q, cay_op_find(op), &json, false);
}

static void fail(struct cay_mcp_call *c, const struct cay_mcp_asked *q)
{
        cay_mcp_call_error(c, q->err.code == CAY_INTERNAL ? CAY_RPC_INTERNAL : CAY_RPC_BAD_PARAMS, NULL, "%s",
                           q->err.msg);
}

static const char *member(const struct cay_json_value *v, const char *name)
{
        const char *text = cay_json_value_text(cay_json_value_find(v, name));

        return text ? text : "";
}

/* Resources: the list */

static void put_resource(struct cay_json *j, const char *uri, const char *name, const char *doc,
                         const char *type)
{
        cay_json_begin_object(j);
        cay_op_key_text(j, "uri", uri);
        cay_op_key_text(j, "name", name);
        cay_op_key_text(j, "description", doc);
        cay_op_key_text(j, "mimeType", type);
        cay_json_end_object(j);
}

static void put_templates(struct cay_json *j, const struct cay_json_value *templates)
{
        for (size_t i = 0; i < cay_json_value_count(templates); i++) {
                const struct cay_json_value *t = cay_json_value_at(templates, i);
                char uri[200], name[160];

                if (!cay_json_value_is_true(cay_json_value_find(t, "has_system")))
                        continue;
                snprintf(uri, sizeof(uri), "template://%s" SYSTEM, member(t, "name"));
                snprintf(name, sizeof(name), "%s: instructions", member(t, "name"));
                put_resource(j, uri, name, "How to work in sandboxes of this template.", "text/markdown");
        }
}

static void put_sandboxes(struct cay_json *j, const struct cay_json_value *sandboxes)
{
        for (size_t i = 0; i < cay_json_value_count(sandboxes); i++) {
                const struct cay_json_value *s = cay_json_value_at(sandboxes, i);
                const char *id = member(s, "sandbox_id"), *name = member(s, "name");
                char uri[200];

                snprintf(uri, sizeof(uri), "sandbox://%s/info", id);
                put_resource(j, uri, name[0] ? name : id, "A sandbox: its state and limits.",
                             "application/json");
        }
}

static void on_list_sandboxes(struct cay_mcp_call *c, struct cay_mcp_asked *q)
{
        struct cay_mcp_result *r = c->state;

        if (q->err.code != CAY_OK) {
                fail(c, q);
                return;
        }
        if (c->party->sandbox[0]) {
                char uri[200];

                snprintf(uri, sizeof(uri), "sandbox://%s/info", c->party->sandbox);
                put_resource(&r->j, uri, c->party->sandbox, "This sandbox: its state and limits.",
                             "application/json");
        } else {
                put_sandboxes(&r->j, cay_json_value_find(q->json, "sandboxes"));
        }
        cay_json_end_array(&r->j);
        cay_mcp_result_send(r, c, CAY_MCP_PRIVATE);
}

static void on_list_templates(struct cay_mcp_call *c, struct cay_mcp_asked *q)
{
        struct cay_mcp_result *r = c->state;

        if (q->err.code != CAY_OK) {
                fail(c, q);
                return;
        }
        cay_mcp_result_begin(r);
        cay_json_key(&r->j, "resources");
        cay_json_begin_array(&r->j);
        put_templates(&r->j, cay_json_value_find(q->json, "templates"));
        if (c->party->sandbox[0])
                ask(c, "sandbox_get", "id", c->party->sandbox, on_list_sandboxes);
        else
                ask(c, "sandbox_list", NULL, NULL, on_list_sandboxes);
}

static void free_result(struct cay_mcp_call *c)
{
        cay_mcp_result_drop(c->state);
        free(c->state);
}

void cay_mcp_resources_list(struct cay_mcp_call *c)
{
        if (cay_mcp_refuse_cursor(c))
                return;
        c->state = calloc(1, sizeof(struct cay_mcp_result));
        if (!c->state) {
                cay_mcp_call_error(c, CAY_RPC_INTERNAL, NULL, "no memory");
                return;
        }
        c->free_state = free_result;
        ask(c, "template_list", NULL, NULL, on_list_templates);
}

void cay_mcp_resources_templates(struct cay_mcp_call *c)
{
        static const struct {
                const char *uri, *name, *doc;
        } rows[] = {
                { "sandbox://{id}/files/{+path}", "file", "A file in a sandbox, by its absolute path." },
                { "sandbox://{id}/exec/{exec_id}/stdout", "stdout", "All that a command printed." },
                { "sandbox://{id}/exec/{exec_id}/stderr", "stderr", "All that a command printed as errors." },
                { "sandbox://{id}/info", "sandbox", "A sandbox: its state and limits." },
                { "template://{name}" SYSTEM, "instructions", "How to work in sandboxes of a template." },
        };
        struct cay_mcp_result r;

        if (cay_mcp_refuse_cursor(c))
                return;
        cay_mcp_result_begin(&r);
        cay_json_key(&r.j, "resourceTemplates");
        cay_json_begin_array(&r.j);
        for (unsigned i = 0; i < CAY_COUNT(rows); i++) {
                cay_json_begin_object(&r.j);
                cay_op_key_text(&r.j, "uriTemplate", rows[i].uri);
                cay_op_key_text(&r.j, "name", rows[i].name);
                cay_op_key_text(&r.j, "description", rows[i].doc);
                cay_json_end_object(&r.j);
        }
        cay_json_end_array(&r.j);
        cay_mcp_result_send(&r, c, CAY_MCP_PUBLIC);
}

/* Resources: one */

struct place {
        struct cay_mcp_call *call;
        struct cay_mcp_asked *asked; /* output that is read; NULL: none, or over */
        struct cay_timer patience;
        char uri[URI_MAX];
        char id[CAY_NAME_MAX + 1]; /* sandbox or template */
        char rest[URI_MAX];        /* path or exec */
        enum { NOWHERE, A_FILE, AN_INFO, AN_OUTPUT, A_TEMPLATE } kind;
        bool is_stderr;
};

static int hex(char c)
{
        return c >= '0' && c <= '9'   ? c - '0'
               : c >= 'a' && c <= 'f' ? c - 'a' + 10
               : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                      : -1;
}

/* Percent signs; false: one that stands for nothing, or for NUL. */
static bool unescape(const char *from, char *to, size_t size)
{
        size_t n = 0;

        for (; *from && n + 1 < size; from++) {
                if (*from != '%') {
                        to[n++] = *from;
                        continue;
                }
                if (hex(from[1]) < 0 || hex(from[2]) < 0 || (from[1] == '0' && from[2] == '0'))
                        return false;
                to[n++] = (char)(hex(from[1]) * 16 + hex(from[2]));
                from += 2;
        }
        to[n] = '\0';
        return *from == '\0';
}

static bool climbs(const char *path)
{
        for (const char *at = path; *at; at += strcspn(at, "/"), at += *at == '/')
                if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'))
                        return true;
        return false;
}

/* "sandbox://ID/REST" into its parts. */
static bool split(const char *uri, const char *scheme, struct place *p, const char **ret_rest)
{
        size_t len = strlen(scheme), id;

        if (strncmp(uri, scheme, len) != 0)
                return false;
        id = strcspn(uri + len, "/");
        if (id == 0 || id > CAY_NAME_MAX || uri[len + id] != '/')
                return false;
        memcpy(p->id, uri + len, id);
        p->id[id] = '\0';
        *ret_rest = uri + len + id + 1;
        return true;
}

static void read_output(struct place *p, const char *rest)
{
        size_t len = strcspn(rest, "/");

        if (len == 0 || len > CAY_NAME_MAX)
                return;
        memcpy(p->rest, rest, len);
        p->rest[len] = '\0';
        p->is_stderr = strcmp(rest + len, "/stderr") == 0;
        if (p->is_stderr || strcmp(rest + len, "/stdout") == 0)
                p->kind = AN_OUTPUT;
}

static void read_uri(const char *uri, struct place *p)
{
        const char *rest;

        if (split(uri, "template://", p, &rest)) {
                p->kind = strcmp(rest, "SYSTEM.md") == 0 ? A_TEMPLATE : NOWHERE;
        } else if (split(uri, "sandbox://", p, &rest)) {
                if (strcmp(rest, "info") == 0)
                        p->kind = AN_INFO;
                else if (strncmp(rest, "exec/", 5) == 0)
                        read_output(p, rest + 5);
                else if (strncmp(rest, "files/", 6) == 0 && rest[6] && unescape(rest + 5, p->rest, URI_MAX) &&
                         !climbs(p->rest))
                        p->kind = A_FILE;
        }
}

static void fail_missing(struct cay_mcp_call *c, const char *uri, const char *why)
{
        cay_auto_buf struct cay_buf data = { 0 };
        struct cay_json j;

        cay_buf_init(&data, 8 * URI_MAX);
        cay_json_init(&j, &data);
        cay_json_begin_object(&j);
        cay_op_key_text(&j, "uri", uri);
        cay_json_end_object(&j);
        cay_mcp_call_error(c, c->is_modern ? CAY_RPC_BAD_PARAMS : CAY_RPC_NO_RESOURCE,
                           cay_json_end(&j) == 0 ? cay_buf_data(&data) : NULL,
                           "there is no such resource: %s", why);
}

static void send_contents(struct cay_mcp_call *c, const char *type, const char *bytes, size_t len,
                          bool is_text)
{
        const struct place *p = c->state;
        cay_auto_buf struct cay_buf coded = { 0 };
        struct cay_mcp_result r;

        cay_mcp_result_begin(&r);
        cay_json_key(&r.j, "contents");
        cay_json_begin_array(&r.j);
        cay_json_begin_object(&r.j);
        cay_op_key_text(&r.j, "uri", p->uri);
        cay_op_key_text(&r.j, "mimeType", type);
        cay_buf_init(&coded, FILE_MAX * 2);
        if (!is_text)
                cay_base64_encode(bytes, len, &coded);
        cay_json_key(&r.j, is_text ? "text" : "blob");
        cay_json_string(&r.j, is_text ? bytes : cay_buf_data(&coded), is_text ? len : coded.len);
        cay_json_end_object(&r.j);
        cay_json_end_array(&r.j);
        cay_mcp_result_send(&r, c, CAY_MCP_PRIVATE);
}

static void on_resource(struct cay_mcp_call *c, struct cay_mcp_asked *q)
{
        const struct place *p = c->state;
        const char *system;
        cay_auto_buf struct cay_buf text = { 0 };

        if (q->err.code == CAY_NOT_FOUND || q->err.code == CAY_INVALID) {
                fail_missing(c, p->uri, q->err.msg);
        } else if (q->err.code != CAY_OK) {
                fail(c, q);
        } else if (p->kind == A_TEMPLATE) {
                system = cay_json_value_text(cay_json_value_find(q->json, "system"));
                if (system)
                        send_contents(c, "text/markdown", system, strlen(system), true);
                else
                        fail_missing(c, p->uri, "this template has no instructions");
        } else {
                cay_buf_init(&text, FILE_MAX);
                cay_json_value_print(q->json, &text);
                send_contents(c, "application/json", cay_buf_data(&text), text.len, true);
        }
}

static void send_bytes(struct cay_mcp_call *c, const struct cay_buf *bytes)
{
        bool is_text = cay_utf8_valid(cay_buf_data(bytes), bytes->len) &&
                       !memchr(cay_buf_data(bytes), '\0', bytes->len);

        send_contents(c, is_text ? "text/plain" : "application/octet-stream", cay_buf_data(bytes), bytes->len,
                      is_text);
}

static void on_bytes(struct cay_mcp_call *c, struct cay_mcp_asked *q)
{
        struct place *p = c->state;

        p->asked = NULL;
        if (q->err.code != CAY_OK)
                on_resource(c, q);
        else if (q->was_cut && p->kind == A_FILE)
                cay_mcp_call_error(
                        c, CAY_RPC_BAD_PARAMS, NULL,
                        "this file is larger than a resource may be: the tool read_file reads it in "
                        "pieces");
        else
                send_bytes(c, &q->bytes);
}

/* A command that still runs: what there is of it. */
static void on_patience(struct cay_timer *t)
{
        struct place *p = cay_container_of(t, struct place, patience);
        cay_auto_buf struct cay_buf bytes = { 0 };

        if (p->call->is_over || !p->asked)
                return;
        bytes = p->asked->bytes;
        p->asked->bytes = (struct cay_buf){ 0 };
        cay_mcp_asked_leave(cay_take(p->asked));
        send_bytes(p->call, &bytes);
}

static void ask_bytes(struct cay_mcp_call *c, struct place *p)
{
        cay_auto_buf struct cay_buf json = { 0 };
        struct cay_mcp_asked *q = cay_mcp_asked_new(c, on_bytes);
        struct cay_json j;

        if (!q)
                return;
        q->bytes_max = FILE_MAX;
        cay_buf_init(&json, 8 * URI_MAX);
        cay_json_init(&j, &json);
        cay_json_begin_object(&j);
        cay_op_key_text(&j, "id", p->id);
        if (p->kind == A_FILE) {
                cay_op_key_text(&j, "path", p->rest);
        } else {
                cay_op_key_text(&j, "exec", p->rest);
                cay_op_key_bool(&j, "raw", true);
                cay_op_key_text(&j, "stream", p->is_stderr ? "stderr" : "stdout");
        }
        cay_json_end_object(&j);
        if (p->kind == AN_OUTPUT) {
                p->asked = q;
                cay_timer_set(c->mcp->world->loop, &p->patience, OUTPUT_MS, on_patience);
        }
        cay_mcp_ask(q, cay_op_find(p->kind == A_FILE ? "file_read" : "exec_attach"), &json, true);
}

static void free_place(struct cay_mcp_call *c)
{
        struct place *p = c->state;

        cay_timer_clear(&p->patience);
        free(p);
}

void cay_mcp_resources_read(struct cay_mcp_call *c)
{
        const char *uri = cay_json_value_text(cay_json_value_find(c->rpc.params, "uri"));
        struct place *p;

        if (!uri) {
                cay_mcp_call_error(c, CAY_RPC_BAD_PARAMS, NULL, "uri: must be a text");
                return;
        }
        p = calloc(1, sizeof(*p));
        if (!p || strlen(uri) >= URI_MAX) {
                free(p);
                cay_mcp_call_error(c, CAY_RPC_BAD_PARAMS, NULL, "uri: is too long");
                return;
        }
        c->state = p;
        c->free_state = free_place;
        p->call = c;
        snprintf(p->uri, sizeof(p->uri), "%s", uri);
        read_uri(uri, p);
        if (c->party->sandbox[0] && p->kind != A_TEMPLATE && strcmp(p->id, c->party->sandbox) != 0)
                p->kind = NOWHERE; /* another sandbox is not there */
        switch (p->kind) {
        case A_TEMPLATE:
                ask(c, "template_get", "name", p->id, on_resource);
                break;
        case AN_INFO:
                ask(c, "sandbox_get", "id", p->id, on_resource);
                break;
        case A_FILE:
        case AN_OUTPUT:
                ask_bytes(c, p);
                break;
        default:
                fail_missing(c, uri, "resources/list and resources/templates/list say what there is");
        }
}

/* Prompts: the templates' instructions, and how to begin. */

static const char guide[] =
        "Use the Cay sandbox tools for this. Run code with run_code; when several steps share files, make a "
        "sandbox first (sandbox_create) and pass its sandbox_id. Check exit_code and stderr after each step, "
        "read "
        "`cause` and `advice` when something ended badly, and destroy the sandbox when done.";

static void put_prompt(struct cay_json *j, const char *name, const char *doc, const char *argument)
{
        cay_json_begin_object(j);
        cay_op_key_text(j, "name", name);
        cay_op_key_text(j, "description", doc);
        cay_json_key(j, "arguments");
        cay_json_begin_array(j);
        cay_json_begin_object(j);
        cay_op_key_text(j, "name", argument);
        cay_op_key_text(j, "description", "What is to be done.");
        cay_op_key_bool(j, "required", false);
        cay_json_end_object(j);
        cay_json_end_array(j);
        cay_json_end_object(j);
}

static void on_prompts(struct cay_mcp_call *c, struct cay_mcp_asked *q)
{
        const struct cay_json_value *templates = cay_json_value_find(q->json, "templates");
        struct cay_mcp_result r;

        if (q->err.code != CAY_OK) {
                fail(c, q);
                return;
        }
        cay_mcp_result_begin(&r);
        cay_json_key(&r.j, "prompts");
        cay_json_begin_array(&r.j);
        put_prompt(&r.j, "sandbox_guide", "How to use the sandbox tools for a task.", "task");
        for (size_t i = 0; i < cay_json_value_count(templates); i++) {
                const struct cay_json_value *t = cay_json_value_at(templates, i);
                char name[80];

                snprintf(name, sizeof(name), "use_%s", member(t, "name"));
                if (cay_json_value_is_true(cay_json_value_find(t, "has_system")))
                        put_prompt(&r.j, name, member(t, "description"), "task");
        }
        cay_json_end_array(&r.j);
        cay_mcp_result_send(&r, c, CAY_MCP_PRIVATE);
}

void cay_mcp_prompts_list(struct cay_mcp_call *c)
{
        if (!cay_mcp_refuse_cursor(c))
                ask(c, "template_list", NULL, NULL, on_prompts);
}

static void send_prompt(struct cay_mcp_call *c, const char *doc, const char *text)
{
        const struct cay_json_value *args = cay_json_value_find(c->rpc.params, "arguments");
        const char *task = cay_json_value_text(cay_json_value_find(args, "task"));
        cay_auto_buf struct cay_buf whole = { 0 };
        struct cay_mcp_result r;

        cay_buf_init(&whole, CAY_MCP_RESULT_MAX / 2);
        cay_buf_puts(&whole, text);
        if (task)
                cay_buf_printf(&whole, "\n\nThe task: %s", task);
        cay_mcp_result_begin(&r);
        cay_op_key_text(&r.j, "description", doc);
        cay_json_key(&r.j, "messages");
        cay_json_begin_array(&r.j);
        cay_json_begin_object(&r.j);
        cay_op_key_text(&r.j, "role", "user");
        cay_json_key(&r.j, "content");
        cay_json_begin_object(&r.j);
        cay_op_key_text(&r.j, "type", "text");
        cay_json_key(&r.j, "text");
        cay_json_string(&r.j, cay_buf_data(&whole), whole.len);
        cay_json_end_object(&r.j);
        cay_json_end_object(&r.j);
        cay_json_end_array(&r.j);
        cay_mcp_result_send(&r, c, CAY_MCP_UNCACHED);
}

static void on_prompt(struct cay_mcp_call *c, struct cay_mcp_asked *q)
{
        const char *system = cay_json_value_text(cay_json_value_find(q->json, "system"));

        if (q->err.code != CAY_OK || !system)
                cay_mcp_call_error(c, CAY_RPC_BAD_PARAMS, NULL,
                                   "there is no such prompt; prompts/list lists them");
        else
                send_prompt(c, member(q->json, "description"), system);
}

void cay_mcp_prompts_get(struct cay_mcp_call *c)
{
        const char *name = cay_json_value_text(cay_json_value_find(c->rpc.params, "name"));

        if (name && strcmp(name, "sandbox_guide") == 0)
                send_prompt(c, "How to use the sandbox tools for a task.", guide);
        else if (name && strncmp(name, "use_", 4) == 0 && name[4])
                ask(c, "template_get", "name", name + 4, on_prompt);
        else
                cay_mcp_call_error(c, CAY_RPC_BAD_PARAMS, NULL,
                                   "there is no such prompt; prompts/list lists them");
}

/* Completion: names of sandboxes and templates. */

static void on_names(struct cay_mcp_call *c, struct cay_mcp_asked *q)
{
        const struct cay_json_value *argument = cay_json_value_find(c->rpc.params, "argument");
        const struct cay_json_value *templates = cay_json_value_find(q->json, "templates");
        const struct cay_json_value *rows = templates ? templates : cay_json_value_find(q->json, "sandboxes");
        const char *start = member(argument, "value");
        struct cay_mcp_result r;
        unsigned count = 0;

        cay_mcp_result_begin(&r);
        cay_json_key(&r.j, "completion");
        cay_json_begin_object(&r.j);
        cay_json_key(&r.j, "values");
        cay_json_begin_array(&r.j);
        for (size_t i = 0; q && i < cay_json_value_count(rows) && count < VALUES_MAX; i++) {
                const char *name = member(cay_json_value_at(rows, i), templates ? "name" : "sandbox_id");

                if (strncmp(name, start, strlen(start)) != 0)
                        continue;
                cay_json_text(&r.j, name);
                count++;
        }
        cay_json_end_array(&r.j);
        cay_op_key_bool(&r.j, "hasMore", count == VALUES_MAX);
        cay_json_end_object(&r.j);
        cay_mcp_result_send(&r, c, CAY_MCP_UNCACHED);
}

void cay_mcp_complete(struct cay_mcp_call *c)
{
        const struct cay_json_value *ref = cay_json_value_find(c->rpc.params, "ref");
        const struct cay_json_value *argument = cay_json_value_find(c->rpc.params, "argument");
        const char *type = member(ref, "type"), *name = member(argument, "name");
        struct cay_mcp_asked none = { 0 };

        if ((strcmp(type, "ref/prompt") != 0 && strcmp(type, "ref/resource") != 0) || !name[0] ||
            !cay_json_value_text(cay_json_value_find(argument, "value")))
                cay_mcp_call_error(
                        c, CAY_RPC_BAD_PARAMS, NULL,
                        "ref, argument: are {type: ref/prompt or ref/resource…} and {name, value}");
        else if (strcmp(type, "ref/resource") == 0 && strcmp(name, "id") == 0 && !c->party->sandbox[0])
                ask(c, "sandbox_list", NULL, NULL, on_names);
        else if (strcmp(type, "ref/resource") == 0 && strcmp(name, "name") == 0)
                ask(c, "template_list", NULL, NULL, on_names);
        else
                on_names(c, &none);
}
