/* SPDX-License-Identifier: Apache-2.0 */
/* Tools whose op answers with a picture: a block of its own, which clients show to their model. */
#include <string.h>

#include "dialects/mcp/tools.h"
#include "foundation/base/base64.h"

#define PICTURE_MAX (3u * 1024 * 1024) /* clients refuse larger ones */

static unsigned get_u32(const uint8_t *p)
{
        return (unsigned)p[0] << 24 | (unsigned)p[1] << 16 | (unsigned)p[2] << 8 | p[3];
}

/* The sides stand first in every PNG. */
static bool read_size(const struct cay_buf *bytes, const char *type, unsigned *ret_width,
                      unsigned *ret_height)
{
        const uint8_t *at = (const uint8_t *)cay_buf_data(bytes);

        if (strcmp(type, "image/png") != 0 || bytes->len < 24)
                return false;
        *ret_width = get_u32(at + 16);
        *ret_height = get_u32(at + 20);
        return true;
}

static void put_picture(struct cay_json *j, const struct cay_buf *coded, const char *type)
{
        cay_json_begin_object(j);
        cay_op_key_text(j, "type", "image");
        cay_json_key(j, "data");
        cay_json_string(j, cay_buf_data(coded), coded->len);
        cay_op_key_text(j, "mimeType", type);
        cay_json_end_object(j);
}

static void send_picture(struct cay_mcp_call *c, const struct cay_buf *bytes, const char *type)
{
        cay_auto_buf struct cay_buf coded = { 0 };
        unsigned width, height;
        struct cay_mcp_result r;

        cay_buf_init(&coded, PICTURE_MAX * 2);
        cay_base64_encode(cay_buf_data(bytes), bytes->len, &coded);
        cay_mcp_result_begin(&r);
        cay_json_key(&r.j, "content");
        cay_json_begin_array(&r.j);
        put_picture(&r.j, &coded, type);
        cay_json_end_array(&r.j);
        cay_json_key(&r.j, "structuredContent");
        cay_json_begin_object(&r.j);
        cay_op_key_text(&r.j, "mime_type", type);
        if (read_size(bytes, type, &width, &height)) {
                cay_op_key_u64(&r.j, "width", width);
                cay_op_key_u64(&r.j, "height", height);
        }
        cay_json_end_object(&r.j);
        cay_mcp_result_send(&r, c, CAY_MCP_UNCACHED);
}

static void on_picture(struct cay_mcp_call *c, struct cay_mcp_op_call *q)
{
        const char *type;

        if (q->err.code != CAY_OK) {
                cay_mcp_tool_done(c, q);
                return;
        }
        type = q->was_cut ? NULL : cay_mcp_image_type(cay_buf_data(&q->bytes), q->bytes.len);
        if (type)
                send_picture(c, &q->bytes, type);
        else
                cay_mcp_tool_fail(c, "Ask for a smaller one, with scale.",
                                  "the picture has more than %u MiB, which clients do not show",
                                  PICTURE_MAX >> 20);
}

bool cay_mcp_is_picture(const struct cay_op *op)
{
        return op->bytes && strncmp(op->bytes, "image/", 6) == 0;
}

void cay_mcp_run_picture(struct cay_mcp_call *c)
{
        const struct cay_op *op = cay_op_find(c->tool->op);
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct cay_mcp_op_call *q = cay_mcp_op_call_new(c, on_picture);

        if (!q)
                return;
        q->bytes_max = PICTURE_MAX;
        cay_mcp_args_begin(c, op, &args);
        cay_mcp_call_op(q, op, &args, true);
}
