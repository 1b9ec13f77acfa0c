/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tools that list: files of a folder, files by a glob, lines by a pattern. Models get lines of text, which
 * cost a fraction of the JSON that the structure has; how much of both is bounded unless the caller says a
 * limit, and what to ask for next is said.
 */
#include <inttypes.h>
#include <string.h>

#include "dialects/mcp/tools.h"

#define LIST_DEFAULT 300u
#define SEARCH_DEFAULT 100u
#define SEARCH_BYTES (24u * 1024)
#define ENTRY_FIXED 40u /* of an entry as JSON, beside its name */

static const char *text_of(const struct cay_json_value *v, const char *key)
{
        return cay_json_value_text(cay_json_value_find(v, key));
}

static void put_name(struct cay_buf *out, const struct cay_json_value *entry)
{
        const char *name = text_of(entry, "name"), *coded = text_of(entry, "name_base64");

        if (name)
                cay_buf_puts(out, name);
        else
                cay_buf_printf(out, "[base64] %s", coded ? coded : "");
}

static void begin(struct cay_mcp_result *r, const struct cay_buf *text)
{
        cay_mcp_result_begin(r);
        cay_json_key(&r->j, "content");
        cay_json_begin_array(&r->j);
        cay_mcp_put_text(&r->j, cay_buf_data(text), text->len);
        cay_json_end_array(&r->j);
        cay_json_key(&r->j, "structuredContent");
        cay_json_begin_object(&r->j);
}

static void finish(struct cay_mcp_result *r, struct cay_mcp_call *c)
{
        cay_json_end_object(&r->j);
        cay_mcp_result_send(r, c, CAY_MCP_UNCACHED);
}

static void put_member(struct cay_json *j, const struct cay_json_value *from, const char *key)
{
        const struct cay_json_value *v = cay_json_value_find(from, key);

        if (!v)
                return;
        cay_json_key(j, key);
        cay_json_value_put(j, v);
}

/* Files */

static void put_entry_line(struct cay_buf *out, const struct cay_json_value *entry)
{
        const char *type = text_of(entry, "type"), *target = text_of(entry, "target");
        int64_t size = 0;

        put_name(out, entry);
        if (type && strcmp(type, "directory") == 0)
                cay_buf_putc(out, '/');
        else if (type && strcmp(type, "symlink") == 0)
                cay_buf_printf(out, " -> %s", target ? target : "");
        else if (type && strcmp(type, "file") == 0 &&
                 cay_json_value_i64(cay_json_value_find(entry, "size"), &size))
                cay_buf_printf(out, " (%" PRId64 ")", size);
        else
                cay_buf_printf(out, " [%s]", type ? type : "");
        cay_buf_putc(out, '\n');
}

/* How many of them are told. */
static size_t fit_entries(const struct cay_mcp_call *c, const struct cay_json_value *entries)
{
        size_t count = cay_json_value_count(entries), bytes = 0;

        for (size_t i = 0; i < count && !cay_mcp_arg(c, "limit"); i++) {
                const struct cay_json_value *entry = cay_json_value_at(entries, i);
                const char *name = text_of(entry, "name"), *target = text_of(entry, "target");

                bytes += ENTRY_FIXED + (name ? strlen(name) : 512) + (target ? strlen(target) : 0);
                if (bytes > CAY_MCP_TEXT_MAX)
                        return i;
        }
        return count;
}

static void put_entries(struct cay_json *j, const struct cay_json_value *entries, size_t count)
{
        static const char *const keys[] = { "name", "name_base64", "type", "size", "target" };

        cay_json_key(j, "entries");
        cay_json_begin_array(j);
        for (size_t i = 0; i < count; i++) {
                cay_json_begin_object(j);
                for (unsigned k = 0; k < CAY_COUNT(keys); k++)
                        put_member(j, cay_json_value_at(entries, i), keys[k]);
                cay_json_end_object(j);
        }
        cay_json_end_array(j);
}

static void on_listed(struct cay_mcp_call *c, struct cay_mcp_op_call *q)
{
        const struct cay_json_value *entries = cay_json_value_find(q->json, "entries");
        uint64_t from = cay_mcp_arg_u64(c, "offset", 0);
        cay_auto_buf struct cay_buf text = { 0 };
        const char *why = text_of(q->json, "why");
        struct cay_mcp_result r;
        size_t count;
        bool more;

        if (q->err.code != CAY_OK) {
                cay_mcp_tool_fail_asked(c, q);
                return;
        }
        count = fit_entries(c, entries);
        more = count < cay_json_value_count(entries) ||
               cay_json_value_is_true(cay_json_value_find(q->json, "more"));
        cay_buf_init(&text, CAY_MCP_RESULT_MAX / 2);
        for (size_t i = 0; i < count; i++)
                put_entry_line(&text, cay_json_value_at(entries, i));
        if (count == 0)
                cay_buf_puts(&text, "[nothing]\n");
        if (more)
                cay_buf_printf(&text, "[there is more: %s with offset %" PRIu64 " goes on]\n", c->tool->name,
                               from + count);
        if (why)
                cay_buf_printf(&text, "[%s]\n", why);
        begin(&r, &text);
        put_member(&r.j, q->json, "path");
        put_entries(&r.j, entries, count);
        cay_op_key_bool(&r.j, "more", more);
        if (more)
                cay_op_key_u64(&r.j, "next_offset", from + count);
        finish(&r, c);
}

static void ask(struct cay_mcp_call *c, void (*done)(struct cay_mcp_call *c, struct cay_mcp_op_call *q),
                bool is_search)
{
        const struct cay_op *op = cay_op_find(c->tool->op);
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct cay_mcp_op_call *q = cay_mcp_op_call_new(c, done);

        if (!q)
                return;
        cay_mcp_args_begin(c, op, &args);
        if (!cay_mcp_arg(c, "path"))
                cay_op_key_text(&args.j, "path", ".");
        if (!cay_mcp_arg(c, "limit"))
                cay_op_key_u64(&args.j, "limit", is_search ? SEARCH_DEFAULT : LIST_DEFAULT);
        if (cay_field_find(op->fields, "sorted", strlen("sorted")))
                cay_op_key_bool(&args.j, "sorted", true);
        if (is_search && !cay_mcp_arg(c, "limit"))
                cay_op_key_u64(&args.j, "max_bytes", SEARCH_BYTES);
        cay_mcp_call_op(q, op, &args, false);
}

void cay_mcp_run_list(struct cay_mcp_call *c)
{
        ask(c, on_listed, false);
}

/* Lines */

static void put_match_line(struct cay_buf *out, const struct cay_json_value *match, const char *path)
{
        const char *name = text_of(match, "name"), *text = text_of(match, "text");
        int64_t line = 0;

        cay_json_value_i64(cay_json_value_find(match, "line"), &line);
        if (name && !name[0])
                cay_buf_puts(out, path);
        else
                put_name(out, match);
        cay_buf_printf(out, ":%" PRId64 ":%s%s\n", line, text ? text : "[no UTF-8] ",
                       text                            ? ""
                       : text_of(match, "text_base64") ? text_of(match, "text_base64")
                                                       : "");
}

static void on_searched(struct cay_mcp_call *c, struct cay_mcp_op_call *q)
{
        const struct cay_json_value *matches = cay_json_value_find(q->json, "matches");
        const char *path = text_of(q->json, "path"), *why = text_of(q->json, "why");
        static const char *const keys[] = { "path", "matches", "files", "more", "why" };
        cay_auto_buf struct cay_buf text = { 0 };
        struct cay_mcp_result r;
        int64_t files = 0;

        if (q->err.code != CAY_OK) {
                cay_mcp_tool_fail_asked(c, q);
                return;
        }
        cay_json_value_i64(cay_json_value_find(q->json, "files"), &files);
        cay_buf_init(&text, CAY_MCP_RESULT_MAX / 2);
        for (size_t i = 0; i < cay_json_value_count(matches); i++)
                put_match_line(&text, cay_json_value_at(matches, i), path ? path : "");
        cay_buf_printf(&text, "[%zu lines; %" PRId64 " files looked at, below %s%s%s]\n",
                       cay_json_value_count(matches), files, path ? path : "", why ? "; " : "",
                       why ? why : "");
        begin(&r, &text);
        for (unsigned i = 0; i < CAY_COUNT(keys); i++)
                put_member(&r.j, q->json, keys[i]);
        finish(&r, c);
}

void cay_mcp_run_search(struct cay_mcp_call *c)
{
        ask(c, on_searched, true);
}
