/* SPDX-License-Identifier: Apache-2.0 */
/* Resources: which there are. */
#include <stdio.h>
#include <stdlib.h>

#include "dialects/mcp/library.h"

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
                snprintf(uri, sizeof(uri), "template://%s" CAY_MCP_SYSTEM, cay_mcp_member(t, "name"));
                snprintf(name, sizeof(name), "%s: instructions", cay_mcp_member(t, "name"));
                put_resource(j, uri, name, "How to work in sandboxes of this template.", "text/markdown");
        }
}

static void put_sandboxes(struct cay_json *j, const struct cay_json_value *sandboxes)
{
        for (size_t i = 0; i < cay_json_value_count(sandboxes); i++) {
                const struct cay_json_value *s = cay_json_value_at(sandboxes, i);
                const char *id = cay_mcp_member(s, "sandbox_id"), *name = cay_mcp_member(s, "name");
                char uri[200];

                snprintf(uri, sizeof(uri), "sandbox://%s/info", id);
                put_resource(j, uri, name[0] ? name : id, "A sandbox: its state and limits.",
                             "application/json");
        }
}

static void on_list_sandboxes(struct cay_mcp_call *c, struct cay_mcp_op_call *q)
{
        struct cay_mcp_result *r = c->state;

        if (q->err.code != CAY_OK) {
                cay_mcp_look_fail(c, q);
                return;
        }
        if (c->client->sandbox[0]) {
                char uri[200];

                snprintf(uri, sizeof(uri), "sandbox://%s/info", c->client->sandbox);
                put_resource(&r->j, uri, c->client->sandbox, "This sandbox: its state and limits.",
                             "application/json");
        } else {
                put_sandboxes(&r->j, cay_json_value_find(q->json, "sandboxes"));
        }
        cay_json_end_array(&r->j);
        if (cay_mcp_member(q->json, "next")[0])
                cay_op_key_text(&r->j, "nextCursor", cay_mcp_member(q->json, "next"));
        cay_mcp_result_send(r, c, CAY_MCP_PRIVATE);
}

static void begin_list(struct cay_mcp_result *r)
{
        cay_mcp_result_begin(r);
        cay_json_key(&r->j, "resources");
        cay_json_begin_array(&r->j);
}

static void on_list_templates(struct cay_mcp_call *c, struct cay_mcp_op_call *q)
{
        struct cay_mcp_result *r = c->state;

        if (q->err.code != CAY_OK) {
                cay_mcp_look_fail(c, q);
                return;
        }
        begin_list(r);
        put_templates(&r->j, cay_json_value_find(q->json, "templates"));
        if (c->client->sandbox[0])
                cay_mcp_look(c, "sandbox_get", "id", c->client->sandbox, on_list_sandboxes);
        else
                cay_mcp_look(c, "sandbox_list", NULL, NULL, on_list_sandboxes);
}

static void free_result(struct cay_mcp_call *c)
{
        cay_mcp_result_drop(c->state);
        free(c->state);
}

/* Templates are on the first page; a cursor is sandbox_list's, which also finds out whether it is one. */
void cay_mcp_resources_list(struct cay_mcp_call *c)
{
        const struct cay_json_value *cursor = cay_json_value_find(c->rpc.params, "cursor");
        const char *text = cay_json_value_text(cursor);

        if (cursor && (!text || c->client->sandbox[0]) && cay_mcp_refuse_cursor(c))
                return;
        c->state = calloc(1, sizeof(struct cay_mcp_result));
        if (!c->state) {
                cay_mcp_call_error(c, CAY_RPC_INTERNAL, NULL, "no memory");
                return;
        }
        c->free_state = free_result;
        if (cursor) {
                begin_list(c->state);
                cay_mcp_look(c, "sandbox_list", "cursor", text, on_list_sandboxes);
        } else {
                cay_mcp_look(c, "template_list", NULL, NULL, on_list_templates);
        }
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
                { "template://{name}" CAY_MCP_SYSTEM, "instructions",
                  "How to work in sandboxes of a template." },
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
