/* SPDX-License-Identifier: Apache-2.0 */
/* Resources: one of them, read. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/base64.h"
#include "foundation/base/utf8.h"
#include "dialects/mcp/library.h"
#include "dialects/mcp/mcp_priv.h"
#include "dialects/mcp/resource_uri.h"
#include "dialects/mcp/tools.h"

#define FILE_MAX (4u * 1024 * 1024)
#define OUTPUT_MS 1000u

struct place {
        struct cay_mcp_call *call;
        struct cay_mcp_op_call *asked; /* output that is read; NULL: none, or over */
        struct cay_timer patience;
        char uri[CAY_MCP_URI_MAX];
        struct cay_mcp_uri where;
};

static void fail_missing(struct cay_mcp_call *c, const char *uri, const char *why)
{
        cay_auto_buf struct cay_buf data = { 0 };
        struct cay_json j;

        cay_buf_init(&data, 8 * CAY_MCP_URI_MAX);
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

static void on_resource(struct cay_mcp_call *c, struct cay_mcp_op_call *q)
{
        const struct place *p = c->state;
        const char *system;
        cay_auto_buf struct cay_buf text = { 0 };

        if (q->err.code == CAY_NOT_FOUND || q->err.code == CAY_INVALID) {
                fail_missing(c, p->uri, q->err.msg);
        } else if (q->err.code != CAY_OK) {
                cay_mcp_look_fail(c, q);
        } else if (p->where.kind == CAY_URI_TEMPLATE) {
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
        const char *image = cay_mcp_image_type(cay_buf_data(bytes), bytes->len);

        send_contents(c,
                      is_text ? "text/plain"
                      : image ? image
                              : "application/octet-stream",
                      cay_buf_data(bytes), bytes->len, is_text);
}

static void on_bytes(struct cay_mcp_call *c, struct cay_mcp_op_call *q)
{
        struct place *p = c->state;

        p->asked = NULL;
        if (q->err.code != CAY_OK)
                on_resource(c, q);
        else if (q->was_cut && p->where.kind == CAY_URI_FILE)
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
        cay_mcp_op_call_leave(cay_take(p->asked));
        send_bytes(p->call, &bytes);
}

static void ask_bytes(struct cay_mcp_call *c, struct place *p)
{
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct cay_mcp_op_call *q = cay_mcp_op_call_new(c, on_bytes);

        if (!q)
                return;
        q->bytes_max = FILE_MAX;
        cay_call_args_begin(&args);
        cay_op_key_text(&args.j, "id", p->where.id);
        if (p->where.kind == CAY_URI_FILE) {
                cay_op_key_text(&args.j, "path", p->where.rest);
        } else {
                cay_op_key_text(&args.j, "exec", p->where.rest);
                cay_op_key_bool(&args.j, "raw", true);
                cay_op_key_text(&args.j, "stream", p->where.is_stderr ? "stderr" : "stdout");
        }
        if (p->where.kind == CAY_URI_OUTPUT) {
                p->asked = q;
                cay_timer_set(c->mcp->world->loop, &p->patience, OUTPUT_MS, on_patience);
        }
        cay_mcp_call_op(q, cay_op_find(p->where.kind == CAY_URI_FILE ? "file_read" : "exec_attach"), &args,
                        true);
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
        if (!p || strlen(uri) >= CAY_MCP_URI_MAX) {
                free(p);
                cay_mcp_call_error(c, CAY_RPC_BAD_PARAMS, NULL, "uri: is too long");
                return;
        }
        c->state = p;
        c->free_state = free_place;
        p->call = c;
        snprintf(p->uri, sizeof(p->uri), "%s", uri);
        cay_mcp_uri_read(uri, &p->where);
        if (!cay_mcp_uri_is_seen(&p->where, c->client->sandbox))
                p->where.kind = CAY_URI_NOWHERE;
        switch (p->where.kind) {
        case CAY_URI_TEMPLATE:
                cay_mcp_look(c, "template_get", "name", p->where.id, on_resource);
                break;
        case CAY_URI_INFO:
                cay_mcp_look(c, "sandbox_get", "id", p->where.id, on_resource);
                break;
        case CAY_URI_FILE:
        case CAY_URI_OUTPUT:
                ask_bytes(c, p);
                break;
        default:
                fail_missing(c, uri, "resources/list and resources/templates/list say what there is");
        }
}
