/* SPDX-License-Identifier: Apache-2.0 */
/* Files of sandboxes: read in pieces, written, edited. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "foundation/base/base64.h"
#include "foundation/base/utf8.h"
#include "dialects/mcp/tools.h"

#define READ_DEFAULT (32u * 1024)    /* about 8,000 tokens */
#define CODED_DEFAULT (24u * 1024)   /* of what becomes base64 */
#define LINES_MAX (8u * 1024 * 1024) /* of a file that is read by lines */
#define IMAGE_MAX (2u * 1024 * 1024)
#define EDIT_MAX (4u * 1024 * 1024)
#define WRITE_MAX (12u * 1024 * 1024)

/* Reading */

struct piece {
        uint64_t from, next, total;
        uint64_t line, next_line; /* 0: not known */
        bool is_text, more;
};

static void put_piece(struct cay_mcp_result *r, const struct cay_mcp_call *c, const struct piece *p,
                      const struct cay_buf *shown)
{
        cay_json_key(&r->j, "structuredContent");
        cay_json_begin_object(&r->j);
        cay_op_key_text(&r->j, "path", cay_mcp_arg_text(c, "path"));
        cay_op_key_text(&r->j, "encoding", p->is_text ? "utf-8" : "base64");
        cay_json_key(&r->j, "content");
        cay_json_string(&r->j, cay_buf_data(shown), shown->len);
        cay_op_key_u64(&r->j, "offset", p->from);
        cay_op_key_u64(&r->j, "size", p->total);
        cay_op_key_bool(&r->j, "more", p->more);
        cay_op_key_u64(&r->j, "next_offset", p->next);
        if (p->line > 0)
                cay_op_key_u64(&r->j, "line", p->line);
        if (p->next_line > 0 && p->more)
                cay_op_key_u64(&r->j, "next_line", p->next_line);
        cay_json_end_object(&r->j);
}

static void put_block(struct cay_json *j, const char *type, const char *key, const struct cay_buf *data,
                      const char *mime)
{
        cay_json_begin_object(j);
        cay_op_key_text(j, "type", type);
        cay_json_key(j, key);
        cay_json_string(j, cay_buf_data(data), data->len);
        if (mime)
                cay_op_key_text(j, "mimeType", mime);
        cay_json_end_object(j);
}

static void send_image(struct cay_mcp_call *c, const struct cay_mcp_op_call *q, const char *type)
{
        cay_auto_buf struct cay_buf coded = { 0 };
        struct cay_mcp_result r;

        cay_buf_init(&coded, IMAGE_MAX * 2);
        cay_base64_encode(cay_buf_data(&q->bytes), q->bytes.len, &coded);
        cay_mcp_result_begin(&r);
        cay_json_key(&r.j, "content");
        cay_json_begin_array(&r.j);
        put_block(&r.j, "image", "data", &coded, type);
        cay_json_end_array(&r.j);
        cay_json_key(&r.j, "structuredContent");
        cay_json_begin_object(&r.j);
        cay_op_key_text(&r.j, "path", cay_mcp_arg_text(c, "path"));
        cay_op_key_text(&r.j, "mime_type", type);
        cay_op_key_u64(&r.j, "size", q->total);
        cay_json_end_object(&r.j);
        cay_mcp_result_send(&r, c, CAY_MCP_UNCACHED);
}

/* Where that line begins, of those that are there; UINT64_MAX: behind them. */
static uint64_t find_line(const char *bytes, size_t len, uint64_t line, uint64_t *ret_lines)
{
        uint64_t at = 0, seen = 1;

        while (seen < line) {
                const char *newline = memchr(bytes + at, '\n', len - at);

                if (!newline || (size_t)(newline - bytes) + 1 == len) {
                        *ret_lines = len > 0 ? seen : 0;
                        return UINT64_MAX;
                }
                at = (uint64_t)(newline - bytes) + 1;
                seen++;
        }
        return at;
}

static uint64_t count_lines(const char *bytes, size_t len)
{
        uint64_t n = 0;

        for (const char *at = memchr(bytes, '\n', len); at;
             at = memchr(at + 1, '\n', len - (size_t)(at + 1 - bytes)))
                n++;
        return n;
}

/*
 * How much of these bytes: at most so many lines, else whole lines as far as the limit goes, else whole
 * characters.
 */
static size_t cut_text(const char *bytes, size_t len, size_t limit, uint64_t lines, bool by_line)
{
        size_t end = len > limit ? limit : len, whole;

        if (lines > 0) {
                uint64_t ignored, behind = find_line(bytes, end, lines + 1, &ignored);

                if (behind != UINT64_MAX)
                        return (size_t)behind;
        }
        if (by_line && len > limit) {
                const char *newline = memrchr(bytes, '\n', end);

                if (newline)
                        return (size_t)(newline - bytes) + 1;
        }
        whole = cay_utf8_cut(bytes, end);
        return whole > 0 ? whole : end;
}

static void send_piece(struct cay_mcp_call *c, const struct piece *p, const char *bytes, size_t len)
{
        cay_auto_buf struct cay_buf text = { 0 };
        struct cay_mcp_result r;

        cay_buf_init(&text, CAY_MCP_RESULT_MAX);
        if (p->is_text)
                cay_buf_put(&text, bytes, len);
        else
                cay_base64_encode(bytes, len, &text);
        cay_mcp_result_begin(&r);
        put_piece(&r, c, p, &text);
        if (p->more && p->is_text && p->next_line > 0)
                cay_buf_printf(&text,
                               "\n[lines %" PRIu64 " to %" PRIu64 "; the file has %" PRIu64
                               " bytes; read_file with line %" PRIu64 " reads on]",
                               p->line, p->next_line - 1, p->total, p->next_line);
        else if (p->more)
                cay_buf_printf(&text,
                               "\n[bytes %" PRIu64 " to %" PRIu64 " of %" PRIu64
                               "; read_file with offset %" PRIu64 " reads on]",
                               p->from, p->next, p->total, p->next);
        cay_json_key(&r.j, "content");
        cay_json_begin_array(&r.j);
        put_block(&r.j, "text", "text", &text, NULL);
        cay_json_end_array(&r.j);
        cay_mcp_result_send(&r, c, CAY_MCP_UNCACHED);
}

/* Reading began at `from`, or at the file's beginning when it is by line. */
static void on_read(struct cay_mcp_call *c, struct cay_mcp_op_call *q)
{
        bool by_offset = cay_mcp_arg(c, "offset"), says_limit = cay_mcp_arg(c, "limit");
        uint64_t line = cay_mcp_arg_u64(c, "line", 1), lines = cay_mcp_arg_u64(c, "lines", 0), known = 0,
                 skip = 0;
        struct piece p = { .from = by_offset ? cay_mcp_arg_u64(c, "offset", 0) : 0 };
        size_t limit = (size_t)cay_mcp_arg_u64(c, "limit", READ_DEFAULT), len;
        const char *image, *bytes = cay_buf_data(&q->bytes);

        if (q->err.code != CAY_OK) {
                cay_mcp_tool_fail_asked(c, q);
                return;
        }
        image = cay_mcp_image_type(bytes, q->bytes.len);
        if (image && p.from == 0 && line == 1 && q->bytes.len == q->total) {
                send_image(c, q, image);
                return;
        }
        if (line > 1)
                skip = find_line(bytes, q->bytes.len, line, &known);
        if (skip == UINT64_MAX) {
                cay_mcp_tool_fail(c,
                                  q->bytes.len < q->total ? "Use offset, or sed -n with run_command." : NULL,
                                  "line: %s %" PRIu64 " lines",
                                  q->bytes.len < q->total ? "only the first 8 MiB are read by line, which are"
                                                          : "the file has",
                                  known);
                return;
        }
        bytes += skip;
        len = cut_text(bytes, q->bytes.len - (size_t)skip, limit, lines, !by_offset && !says_limit);
        p.is_text = cay_utf8_valid(bytes, len) && !memchr(bytes, '\0', len);
        if (!p.is_text) {
                len = q->bytes.len - (size_t)skip;
                len = len > limit ? limit : len;
                len = !says_limit && len > CODED_DEFAULT ? CODED_DEFAULT : len;
        }
        p.from += skip;
        p.next = p.from + len;
        p.total = q->total;
        p.more = p.next < p.total;
        if (!by_offset && p.is_text) {
                p.line = line;
                if (len > 0 && bytes[len - 1] == '\n')
                        p.next_line = line + count_lines(bytes, len);
        }
        send_piece(c, &p, bytes, len);
}

/* More than asked for is read at the start of a file: it may be an image, which is shown whole. */
void cay_mcp_run_read(struct cay_mcp_call *c)
{
        const struct cay_op *op = cay_op_find("file_read");
        uint64_t from = cay_mcp_arg_u64(c, "offset", 0), limit = cay_mcp_arg_u64(c, "limit", READ_DEFAULT);
        bool by_line = cay_mcp_arg_u64(c, "line", 1) > 1 || cay_mcp_arg(c, "lines");
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct cay_mcp_op_call *q;

        if (by_line && cay_mcp_arg(c, "offset")) {
                cay_mcp_tool_fail(c, NULL, "offset: counts bytes: give it, or line and lines");
                return;
        }
        q = cay_mcp_op_call_new(c, on_read);
        if (!q)
                return;
        q->bytes_max = by_line ? LINES_MAX : from == 0 && limit < IMAGE_MAX ? IMAGE_MAX : limit;
        cay_mcp_args_begin(c, op, &args);
        if (from > 0)
                cay_op_key_u64(&args.j, "offset", from);
        cay_op_key_u64(&args.j, "length", q->bytes_max);
        cay_mcp_call_op(q, op, &args, true);
}

/* Writing */

/* Takes the bytes. */
static void write_bytes(struct cay_mcp_call *c, struct cay_buf *bytes)
{
        const struct cay_op *op = cay_op_find("file_write");
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct cay_mcp_op_call *q = cay_mcp_op_call_new(c, cay_mcp_tool_done);

        if (!q)
                return;
        q->body = *bytes;
        *bytes = (struct cay_buf){ 0 };
        cay_mcp_args_begin(c, op, &args);
        cay_op_key_bool(&args.j, "parents", true);
        cay_mcp_call_op(q, op, &args, false);
}

void cay_mcp_run_write(struct cay_mcp_call *c)
{
        const char *content = cay_mcp_arg_text(c, "content"), *encoding = cay_mcp_arg_text(c, "encoding");
        cay_auto_buf struct cay_buf bytes = { 0 };
        bool is_coded = encoding && strcmp(encoding, "base64") == 0;

        cay_buf_init(&bytes, WRITE_MAX);
        if (encoding && !is_coded && strcmp(encoding, "utf-8") != 0 && strcmp(encoding, "utf8") != 0 &&
            strcmp(encoding, "text") != 0)
                cay_mcp_tool_fail(c, NULL, "encoding: is utf-8 or base64");
        else if (is_coded && cay_base64_decode(content, strlen(content), &bytes) < 0)
                cay_mcp_tool_fail(c, NULL, "content: is not base64");
        else if (!is_coded && cay_buf_puts(&bytes, content) < 0)
                cay_mcp_tool_fail(c, "Write it in pieces, with append.", "content: is too long");
        else
                write_bytes(c, &bytes);
}

/* Editing: what is there is read, changed and written back. */

static unsigned count_places(const char *text, const char *old)
{
        unsigned n = 0;

        for (const char *at = strstr(text, old); at; at = strstr(at + strlen(old), old))
                n++;
        return n;
}

static int replace(const char *text, const char *old, const char *new, struct cay_buf *out)
{
        const char *from = text;
        int r = 0;

        for (const char *at = strstr(from, old); at && r == 0; at = strstr(from, old)) {
                r = cay_buf_put(out, from, (size_t)(at - from));
                if (r == 0)
                        r = cay_buf_puts(out, new);
                from = at + strlen(old);
        }
        return r < 0 ? r : cay_buf_puts(out, from);
}

static void on_edit(struct cay_mcp_call *c, struct cay_mcp_op_call *q)
{
        const char *old = cay_mcp_arg_text(c, "old_string"), *new = cay_mcp_arg_text(c, "new_string");
        cay_auto_buf struct cay_buf bytes = { 0 };
        unsigned count;

        if (q->err.code != CAY_OK) {
                cay_mcp_tool_fail_asked(c, q);
                return;
        }
        if (q->was_cut || memchr(cay_buf_data(&q->bytes), '\0', q->bytes.len)) {
                cay_mcp_tool_fail(c, "Change it with a command (sed, python).",
                                  "path: is no text file, or too large to edit");
                return;
        }
        count = count_places(cay_buf_data(&q->bytes), old);
        if (count == 0 || (count > 1 && !cay_mcp_arg_bool(c, "replace_all", false))) {
                if (count == 0)
                        cay_mcp_tool_fail(c, "Read the file and copy the text exactly, blanks included.",
                                          "old_string: was not found: it is there 0 times");
                else
                        cay_mcp_tool_fail(c, "Include more of the lines around it, or set replace_all.",
                                          "old_string: is there %u times", count);
                return;
        }
        cay_buf_init(&bytes, WRITE_MAX);
        if (replace(cay_buf_data(&q->bytes), old, new, &bytes) < 0)
                cay_mcp_tool_fail(c, NULL, "new_string: makes the file too large");
        else
                write_bytes(c, &bytes);
}

void cay_mcp_run_edit(struct cay_mcp_call *c)
{
        const struct cay_op *op = cay_op_find("file_read");
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct cay_mcp_op_call *q;

        if (!cay_mcp_arg_text(c, "old_string")[0]) {
                cay_mcp_tool_fail(c, "write_file makes files.", "old_string: must not be empty");
                return;
        }
        q = cay_mcp_op_call_new(c, on_edit);
        if (!q)
                return;
        q->bytes_max = EDIT_MAX;
        cay_mcp_args_begin(c, op, &args);
        cay_mcp_call_op(q, op, &args, true);
}
