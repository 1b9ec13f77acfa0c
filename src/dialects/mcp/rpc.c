/* SPDX-License-Identifier: Apache-2.0 */
/* JSON-RPC messages: told apart, refused, wrapped. */
#include "dialects/mcp/rpc.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "foundation/base/json_out.h"

#define DEPTH 32u
#define VALUES 100000u
#define SCALAR_MAX 4096u

static int refuse(struct cay_rpc_fault *fault, int code, const char *text)
{
        fault->code = code;
        snprintf(fault->text, sizeof(fault->text), "%s", text);
        return -1;
}

/* As JSON text; false: neither a text nor an integer, or too long. */
static bool print_id(const struct cay_json_value *v, char ret[CAY_RPC_ID_MAX + 1])
{
        cay_auto_buf struct cay_buf text = { 0 };
        enum cay_json_type type = cay_json_value_type(v);

        cay_buf_init(&text, CAY_RPC_ID_MAX);
        if ((type != CAY_JSON_TEXT && type != CAY_JSON_INTEGER) || cay_json_value_print(v, &text) < 0)
                return false;
        memcpy(ret, cay_buf_data(&text), text.len + 1);
        return true;
}

/* A lone number or word is JSON, but nothing that json_in takes. */
static bool is_scalar(const char *bytes, size_t len)
{
        cay_auto_buf struct cay_buf wrapped = { 0 };
        cay_auto(cay_json_in_freep) struct cay_json_in *doc = NULL;
        struct cay_error err = { 0 };

        cay_buf_init(&wrapped, SCALAR_MAX);
        return cay_buf_putc(&wrapped, '[') == 0 && cay_buf_put(&wrapped, bytes, len) == 0 &&
               cay_buf_putc(&wrapped, ']') == 0 &&
               cay_json_in_parse(cay_buf_data(&wrapped), wrapped.len, NULL, &doc, &err) == 0 &&
               cay_json_value_count(cay_json_in_root(doc)) == 1;
}

/* What would be taken for one in a message that is read. */
static bool is_id(const char *bytes, size_t len)
{
        return (len > 1 && bytes[0] == '"') ? is_scalar(bytes, len) : len < 19 && is_scalar(bytes, len);
}

static int read_params(struct cay_rpc *m, const struct cay_json_value *params, struct cay_rpc_fault *fault)
{
        const struct cay_json_value *token;

        if (params && cay_json_value_type(params) != CAY_JSON_OBJECT)
                return refuse(fault, CAY_RPC_NO_REQUEST, "params: must be an object");
        m->params = params;
        m->meta = cay_json_value_find(params, "_meta");
        if (m->meta && cay_json_value_type(m->meta) != CAY_JSON_OBJECT)
                return refuse(fault, CAY_RPC_BAD_PARAMS, "_meta: must be an object");
        m->version =
                cay_json_value_text(cay_json_value_find(m->meta, "io.modelcontextprotocol/protocolVersion"));
        token = cay_json_value_find(m->meta, "progressToken");
        if (token && !print_id(token, m->progress))
                return refuse(fault, CAY_RPC_BAD_PARAMS, "progressToken: must be a text or an integer");
        return 0;
}

static int read_response(struct cay_rpc *m, const struct cay_json_value *root, struct cay_rpc_fault *fault)
{
        m->kind = CAY_RPC_RESPONSE;
        m->result = cay_json_value_find(root, "result");
        m->error = cay_json_value_find(root, "error");
        if (!m->id[0] || !m->result == !m->error)
                return refuse(fault, CAY_RPC_NO_REQUEST,
                              "a message has a method, or an id and one of result and error");
        return 0;
}

static int read_object(struct cay_rpc *m, struct cay_rpc_fault *fault)
{
        const struct cay_json_value *root = cay_json_in_root(m->doc), *id, *method;
        const char *version;

        if (cay_json_value_type(root) == CAY_JSON_ARRAY)
                return refuse(fault, CAY_RPC_NO_REQUEST,
                              "batches are not supported: send one message at a time");
        id = cay_json_value_find(root, "id");
        if (id && print_id(id, m->id))
                memcpy(fault->id, m->id, sizeof(fault->id));
        else if (id)
                return refuse(fault, CAY_RPC_NO_REQUEST, "id: must be a text or an integer, not too long");
        version = cay_json_value_text(cay_json_value_find(root, "jsonrpc"));
        if (!version || strcmp(version, "2.0") != 0)
                return refuse(fault, CAY_RPC_NO_REQUEST, "jsonrpc: must be \"2.0\"");
        method = cay_json_value_find(root, "method");
        if (!method)
                return read_response(m, root, fault);
        m->method = cay_json_value_text(method);
        if (!m->method || !m->method[0])
                return refuse(fault, CAY_RPC_NO_REQUEST, "method: must be a text");
        m->kind = m->id[0] ? CAY_RPC_REQUEST : CAY_RPC_NOTIFICATION;
        return read_params(m, cay_json_value_find(root, "params"), fault);
}

int cay_rpc_read(struct cay_rpc *m, const char *bytes, size_t len, size_t max, struct cay_rpc_fault *fault)
{
        const struct cay_json_in_limits limits = { .bytes = max, .depth = DEPTH, .values = VALUES };
        struct cay_error err = { 0 };

        *m = (struct cay_rpc){ 0 };
        *fault = (struct cay_rpc_fault){ .id = "null" };
        if (cay_json_in_parse(bytes, len, &limits, &m->doc, &err) < 0) {
                if (err.code == CAY_LIMIT)
                        cay_rpc_guess_id(bytes, len, fault->id);
                return refuse(fault,
                              err.code == CAY_LIMIT || is_scalar(bytes, len) ? CAY_RPC_NO_REQUEST
                                                                             : CAY_RPC_NOT_JSON,
                              err.msg);
        }
        if (read_object(m, fault) < 0) {
                cay_rpc_done(m);
                return -1;
        }
        return 0;
}

static void scan_value(struct cay_rpc_scan *s, char c)
{
        bool is_text = s->len > 0 && s->id[0] == '"', is_blank = strchr(" \t\r\n", c) && c != '\0';

        if (s->len == 0 && is_blank)
                return;
        if (!is_text && !(c >= '0' && c <= '9') && c != '-' && !(c == '"' && s->len == 0)) {
                s->at = CAY_RPC_SCAN_OVER;
                s->is_found = s->len > 0 && (is_blank || c == ',' || c == '}') && is_id(s->id, s->len);
                return;
        }
        if (s->len == CAY_RPC_ID_MAX) {
                s->at = CAY_RPC_SCAN_OVER;
                return;
        }
        s->id[s->len++] = c;
        s->id[s->len] = '\0';
        if (is_text && c == '"' && !s->is_escaped) {
                s->at = CAY_RPC_SCAN_OVER;
                s->is_found = is_id(s->id, s->len);
        }
        s->is_escaped = is_text && c == '\\' && !s->is_escaped;
}

static void scan_text(struct cay_rpc_scan *s, char c)
{
        static const char name[] = { 'i', 'd' };

        if (s->is_escaped || c != '"') {
                s->is_escaped = !s->is_escaped && c == '\\';
                s->is_name = s->is_name && s->len < sizeof(name) && c == name[s->len];
                s->len += s->len <= sizeof(name);
                return;
        }
        s->at = s->is_name && s->len == sizeof(name) && s->depth == 1 ? CAY_RPC_SCAN_NAMED
                                                                      : CAY_RPC_SCAN_OUTSIDE;
        s->len = 0;
}

/* Members of the outermost object alone count: what is inside others is skipped by its brackets. */
static void scan_outside(struct cay_rpc_scan *s, char c)
{
        if (c == '"') {
                s->at = CAY_RPC_SCAN_TEXT;
                s->is_name = true;
                s->len = 0;
        }
        s->depth += c == '{' || c == '[';
        s->depth -= s->depth > 0 && (c == '}' || c == ']');
}

void cay_rpc_scan(struct cay_rpc_scan *s, const char *bytes, size_t len)
{
        for (size_t i = 0; i < len && s->at != CAY_RPC_SCAN_OVER; i++) {
                char c = bytes[i];

                if (s->at == CAY_RPC_SCAN_NAMED && c != ':' && !(strchr(" \t\r\n", c) && c != '\0'))
                        s->at = CAY_RPC_SCAN_OUTSIDE; /* it was a value */
                if (s->at == CAY_RPC_SCAN_OUTSIDE)
                        scan_outside(s, c);
                else if (s->at == CAY_RPC_SCAN_TEXT)
                        scan_text(s, c);
                else if (s->at == CAY_RPC_SCAN_VALUE)
                        scan_value(s, c);
                else if (c == ':')
                        s->at = CAY_RPC_SCAN_VALUE;
        }
}

void cay_rpc_scan_id(const struct cay_rpc_scan *s, char ret[CAY_RPC_ID_MAX + 1])
{
        snprintf(ret, CAY_RPC_ID_MAX + 1, "%s", s->is_found ? s->id : "null");
}

void cay_rpc_guess_id(const char *bytes, size_t len, char ret[CAY_RPC_ID_MAX + 1])
{
        struct cay_rpc_scan s = { 0 };

        cay_rpc_scan(&s, bytes, len);
        cay_rpc_scan_id(&s, ret);
}

void cay_rpc_done(struct cay_rpc *m)
{
        cay_json_in_free(m->doc);
        *m = (struct cay_rpc){ 0 };
}

bool cay_rpc_is_modern(const struct cay_rpc *m)
{
        return m->version || (m->method && strcmp(m->method, "server/discover") == 0);
}

int cay_rpc_put_result(struct cay_buf *out, const char *id, const char *json, size_t len)
{
        size_t before = out->len;
        int r = cay_buf_printf(out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":", id);

        if (r == 0)
                r = cay_buf_put(out, json, len);
        if (r == 0)
                r = cay_buf_putc(out, '}');
        if (r < 0)
                out->len = before;
        return r;
}

int cay_rpc_put_error(struct cay_buf *out, const char *id, int code, const char *text, const char *data)
{
        struct cay_json j;
        size_t before = out->len;
        int r = cay_buf_printf(out, "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,\"message\":", id,
                               code);

        cay_json_init(&j, out);
        cay_json_text(&j, text);
        if (r == 0)
                r = cay_json_end(&j);
        if (r == 0 && data)
                r = cay_buf_printf(out, ",\"data\":%s", data);
        if (r == 0)
                r = cay_buf_puts(out, "}}");
        if (r < 0)
                out->len = before;
        return r;
}

int cay_rpc_put_too_often(struct cay_buf *out, const char *id, const char *text, uint64_t wait_ms)
{
        char data[48];

        snprintf(data, sizeof(data), "{\"retryAfterMs\":%" PRIu64 "}", wait_ms);
        return cay_rpc_put_error(out, id, CAY_RPC_TOO_OFTEN, text, data);
}
