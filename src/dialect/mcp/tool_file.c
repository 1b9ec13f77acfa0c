/* SPDX-License-Identifier: Apache-2.0 */
/* Files of sandboxes: read in pieces, written, edited. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/base64.h"
#include "base/utf8.h"
#include "dialect/mcp/tools.h"

#define READ_DEFAULT (64u * 1024)
#define IMAGE_MAX (2u * 1024 * 1024)
#define EDIT_MAX (4u * 1024 * 1024)
#define WRITE_MAX (12u * 1024 * 1024)

/* Reading */

static void put_piece(struct cay_mcp_result *r, const struct cay_mcp_call *c, const struct cay_mcp_asked *q,
                      uint64_t from, bool is_text, const struct cay_buf *shown)
{
        uint64_t next = from + q->bytes.len;

        cay_json_key(&r->j, "structuredContent");
        cay_json_begin_object(&r->j);
        cay_op_key_text(&r->j, "path", cay_mcp_arg_text(c, "path"));
        cay_op_key_text(&r->j, "encoding", is_text ? "utf-8" : "base64");
        cay_json_key(&r->j, "content");
        cay_json_string(&r->j, cay_buf_data(shown), shown->len);
        cay_op_key_u64(&r->j, "offset", from);
        cay_op_key_u64(&r->j, "size", q->total);
        cay_op_key_bool(&r->j, "more", next < q->total);
        cay_op_key_u64(&r->j, "next_offset", next);
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

static void send_image(struct cay_mcp_call *c, const struct cay_mcp_asked *q, const char *type)
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

/* Text is cut between characters: the rest of one comes with the next piece. */
static void on_read(struct cay_mcp_call *c, struct cay_mcp_asked *q)
{
        uint64_t from = cay_mcp_arg_u64(c, "offset", 0), limit = cay_mcp_arg_u64(c, "limit", READ_DEFAULT);
        const char *image =
                q->err.code == CAY_OK ? cay_mcp_image_type(cay_buf_data(&q->bytes), q->bytes.len) : NULL;
        cay_auto_buf struct cay_buf text = { 0 };
        struct cay_mcp_result r;
        bool is_text;
        size_t whole;

        if (q->err.code != CAY_OK) {
                cay_mcp_tool_fail_asked(c, q);
                return;
        }
        if (image && from == 0 && q->bytes.len == q->total) {
                send_image(c, q, image);
                return;
        }
        if (q->bytes.len > limit)
                q->bytes.len = limit;
        whole = cay_utf8_cut(cay_buf_data(&q->bytes), q->bytes.len);
        is_text = cay_utf8_valid(cay_buf_data(&q->bytes), whole) &&
                  !memchr(cay_buf_data(&q->bytes), '\0', whole) && (whole > 0 || q->bytes.len == 0);
        cay_buf_init(&text, CAY_MCP_RESULT_MAX);
        if (is_text) {
                q->bytes.len = whole;
                cay_buf_put(&text, cay_buf_data(&q->bytes), whole);
        } else {
                cay_base64_encode(cay_buf_data(&q->bytes), q->bytes.len, &text);
        }
        cay_mcp_result_begin(&r);
        put_piece(&r, c, q, from, is_text, &text);
        if (from + q->bytes.len < q->total)
                cay_buf_printf(&text,
                               "\n[bytes %" PRIu64 " to %" PRIu64 " of %" PRIu64
                               "; read_file with offset %" PRIu64 " reads on]",
                               from, from + q->bytes.len, q->total, from + q->bytes.len);
        cay_json_key(&r.j, "content");
        cay_json_begin_array(&r.j);
        put_block(&r.j, "text", "text", &text, NULL);
        cay_json_end_array(&r.j);
        cay_mcp_result_send(&r, c, CAY_MCP_UNCACHED);
}

/* More than asked for is read at the start of a file: it may be an image, which is shown whole. */
void cay_mcp_run_read(struct cay_mcp_call *c)
{
        const struct cay_op *op = cay_op_find("file_read");
        uint64_t from = cay_mcp_arg_u64(c, "offset", 0), limit = cay_mcp_arg_u64(c, "limit", READ_DEFAULT);
        cay_auto_buf struct cay_buf json = { 0 };
        struct cay_mcp_asked *q = cay_mcp_asked_new(c, on_read);
        struct cay_json j;

        if (!q)
                return;
        q->bytes_max = from == 0 && limit < IMAGE_MAX ? IMAGE_MAX : limit;
        cay_mcp_args_begin(c, op, &json, &j);
        if (from > 0)
                cay_op_key_u64(&j, "offset", from);
        cay_op_key_u64(&j, "length", q->bytes_max);
        cay_json_end_object(&j);
        cay_mcp_ask(q, op, &json, true);
}

/* Writing */

static void on_written(struct cay_mcp_call *c, struct cay_mcp_asked *q)
{
        if (q->err.code != CAY_OK)
                cay_mcp_tool_fail_asked(c, q);
        else
                cay_mcp_tool_answer(c, q->json, NULL, NULL);
}

/* Takes the bytes. */
static void write_bytes(struct cay_mcp_call *c, struct cay_buf *bytes)
{
        const struct cay_op *op = cay_op_find("file_write");
        cay_auto_buf struct cay_buf json = { 0 };
        struct cay_mcp_asked *q = cay_mcp_asked_new(c, on_written);
        struct cay_json j;

        if (!q)
                return;
        q->body = *bytes;
        *bytes = (struct cay_buf){ 0 };
        cay_mcp_args_begin(c, op, &json, &j);
        cay_op_key_bool(&j, "parents", true);
        cay_json_end_object(&j);
        cay_mcp_ask(q, op, &json, false);
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

static void on_edit(struct cay_mcp_call *c, struct cay_mcp_asked *q)
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
                cay_mcp_tool_fail(c,
                                  count == 0 ? "Read the file and copy the text exactly, blanks included."
                                             : "Include more of the lines around it, or set replace_all.",
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
        cay_auto_buf struct cay_buf json = { 0 };
        struct cay_mcp_asked *q;
        struct cay_json j;

        if (!cay_mcp_arg_text(c, "old_string")[0]) {
                cay_mcp_tool_fail(c, "write_file makes files.", "old_string: must not be empty");
                return;
        }
        q = cay_mcp_asked_new(c, on_edit);
        if (!q)
                return;
        q->bytes_max = EDIT_MAX;
        cay_mcp_args_begin(c, op, &json, &j);
        cay_json_end_object(&j);
        cay_mcp_ask(q, op, &json, true);
}
