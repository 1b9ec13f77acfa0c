/* SPDX-License-Identifier: Apache-2.0 */
/* The API reference, made from the op table. */
#include "dialects/rest/rest_reference.h"

#include <string.h>

#include "dialects/rest/rest_fill.h"

const char cay_reference_css[] =
        "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222;"
        "background:#fff}\n"
        "h1{font-size:1.6rem}h2{font-size:1.1rem;margin:2.2rem 0 .2rem}\n"
        "code{font:13px/1.4 ui-monospace,monospace;background:#f2f2f2;padding:.1rem "
        ".3rem;border-radius:3px}\n"
        "table{border-collapse:collapse;width:100%;margin:.5rem 0}td{border-top:1px solid #ddd;padding:.3rem "
        ".6rem "
        ".3rem 0;vertical-align:top}\n"
        ".s{color:#666}\n"
        "@media(prefers-color-scheme:dark){body{color:#ddd;background:#161616}code{background:#2a2a2a}td{"
        "border-color:"
        "#333}.s{color:#999}}\n";

static int put_escaped(struct cay_buf *out, const char *text)
{
        int r = 0;

        for (; *text && r == 0; text++) {
                const char *entity = *text == '<'   ? "&lt;"
                                     : *text == '>' ? "&gt;"
                                     : *text == '&' ? "&amp;"
                                     : *text == '"' ? "&quot;"
                                                    : NULL;

                r = entity ? cay_buf_puts(out, entity) : cay_buf_putc(out, *text);
        }
        return r;
}

static const char *place(const struct cay_op *op, const struct cay_field *f)
{
        return cay_rest_is_in_path(op, f->name) ? "path" : cay_rest_takes_body(op) ? "body" : "query";
}

static const char *need(const struct cay_op *op, const struct cay_field *f)
{
        return f->flags & CAY_FIELD_REQUIRED || cay_rest_is_in_path(op, f->name) ? "required" : "";
}

static const char *who(const struct cay_op *op)
{
        return op->flags & CAY_OP_OPEN ? "anybody" : cay_scope_text(op->scope);
}

static int html_field(struct cay_buf *out, const struct cay_op *op, const struct cay_field *f)
{
        int r = cay_buf_printf(out, "<tr><td><code>%s</code></td><td class=s>%s %s</td><td>", f->name,
                               place(op, f), need(op, f));

        if (r == 0)
                r = put_escaped(out, f->doc ? f->doc : "");
        if (r == 0)
                r = cay_buf_puts(out, " <span class=s>");
        if (r == 0)
                r = put_escaped(out, cay_field_kind_text(f->kind));
        return r == 0 ? cay_buf_puts(out, "</span></td></tr>\n") : r;
}

static int html_op(struct cay_buf *out, const struct cay_op *op)
{
        int r = cay_buf_printf(out, "<h2 id=\"%s\"><code>%s</code></h2>\n<p>", op->name, op->route);

        if (r == 0)
                r = put_escaped(out, op->doc);
        if (r == 0)
                r = cay_buf_printf(out, ". <span class=s>%s · %s%s%s</span></p>\n", op->name, who(op),
                                   op->flags & CAY_OP_RAW_IN ? " · the body is bytes" : "",
                                   op->flags & CAY_OP_STREAM ? " · streams" : "");
        if (r < 0 || !op->fields)
                return r;
        r = cay_buf_puts(out, "<table>\n");
        for (const struct cay_field *f = op->fields; r == 0 && f->name; f++)
                r = html_field(out, op, f);
        return r == 0 ? cay_buf_puts(out, "</table>\n") : r;
}

static const char head[] =
        "<!doctype html><html lang=en><head><meta charset=utf-8><title>Cay API</title>"
        "<meta name=viewport content=\"width=device-width\"><link rel=stylesheet "
        "href=/reference.css><script src=/login.js defer></script></head><body>\n"
        "<h1>Cay " CAY_VERSION " API</h1>\n<p id=who class=s></p>\n"
        "<p>Every request needs <code>Authorization: Bearer TOKEN</code> (<code>cay token</code> prints "
        "one), except over "
        "the unix socket, where the kernel says who calls. Bodies are JSON. Errors have one form: "
        "<code>{\"error\": {\"code\", \"message\", \"field\", \"request_id\"}}</code>. Streams are NDJSON, "
        "or server-sent "
        "events with <code>Accept: text/event-stream</code>, or a WebSocket: a GET with an upgrade on the "
        "same "
        "path, where the first message is the body if the row is a POST; then one text message per event. "
        "What "
        "you send there is input for a command, as binary messages or as <code>{\"input\", "
        "\"input_base64\", \"eof\", \"rows\", \"cols\", \"signal\"}</code>. The same as JSON: <a "
        "href=/api/reference>/api/reference</a>.</p>\n";

int cay_reference_html(const struct cay_rest_listing *l, struct cay_buf *out)
{
        int r = cay_buf_puts(out, head);

        for (unsigned i = 0; i < l->count && r == 0; i++)
                r = html_op(out, l->ops[i]);
        return r == 0 ? cay_buf_puts(out, "</body></html>\n") : r;
}

static void json_fields(struct cay_json *j, const struct cay_op *op, const struct cay_field *fields,
                        bool nested)
{
        cay_json_begin_array(j);
        for (const struct cay_field *f = fields; f && f->name; f++) {
                cay_json_begin_object(j);
                cay_op_key_text(j, "name", f->name);
                cay_op_key_text(j, "in", nested ? "body" : place(op, f));
                cay_op_key_bool(j, "required", need(op, f)[0] != '\0');
                cay_op_key_text(j, "type", cay_field_kind_text(f->kind));
                cay_op_key_text(j, "doc", f->doc);
                if (f->kind == CAY_FIELD_OBJECT) {
                        cay_json_key(j, "fields");
                        json_fields(j, op, f->fields, true);
                }
                cay_json_end_object(j);
        }
        cay_json_end_array(j);
}

int cay_reference_json(const struct cay_rest_listing *l, struct cay_buf *out)
{
        struct cay_json j;

        cay_json_init(&j, out);
        cay_json_begin_object(&j);
        cay_op_key_text(&j, "version", CAY_VERSION);
        cay_json_key(&j, "ops");
        cay_json_begin_array(&j);
        for (unsigned i = 0; i < l->count; i++) {
                const struct cay_op *op = l->ops[i];

                cay_json_begin_object(&j);
                cay_op_key_text(&j, "name", op->name);
                cay_op_key_text(&j, "route", op->route);
                cay_op_key_text(&j, "doc", op->doc);
                cay_op_key_text(&j, "scope", who(op));
                cay_op_key_bool(&j, "destructive", op->flags & CAY_OP_DESTRUCTIVE);
                cay_op_key_bool(&j, "streams", op->flags & CAY_OP_STREAM);
                cay_op_key_bool(&j, "raw_body", op->flags & CAY_OP_RAW_IN);
                cay_json_key(&j, "fields");
                json_fields(&j, op, op->fields, false);
                cay_json_end_object(&j);
        }
        cay_json_end_array(&j);
        cay_json_end_object(&j);
        return cay_json_end(&j);
}
