/* SPDX-License-Identifier: Apache-2.0 */
/* Images that code has made: files of the workspace that are newer than the call, read one by one. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "foundation/base/base64.h"
#include "dialects/mcp/tool_exec.h"

#define IMAGE_BYTES_MAX (1024u * 1024)
#define CLOCK_SLACK_MS 20u /* file times are coarser than clocks */

static void read_image(struct cay_mcp_exec *e);

static void on_image(struct cay_mcp_call *c, struct cay_mcp_op_call *q)
{
        struct cay_mcp_exec *e = c->state;
        struct cay_mcp_image *image = &e->images[e->image_at++];
        const char *type = q->err.code == CAY_OK && !q->was_cut
                                   ? cay_mcp_image_type(cay_buf_data(&q->bytes), q->bytes.len)
                                   : NULL;

        cay_buf_init(&image->coded, IMAGE_BYTES_MAX * 2);
        if (type && cay_base64_encode(cay_buf_data(&q->bytes), q->bytes.len, &image->coded) == 0)
                snprintf(image->type, sizeof(image->type), "%s", type);
        read_image(e);
}

static void read_image(struct cay_mcp_exec *e)
{
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct cay_mcp_op_call *q;

        if (e->image_at >= e->image_count) {
                cay_mcp_exec_conclude(e);
                return;
        }
        q = cay_mcp_op_call_new(e->call, on_image);
        if (!q)
                return;
        q->bytes_max = IMAGE_BYTES_MAX;
        cay_call_args_begin(&args);
        cay_op_key_text(&args.j, "id", e->sandbox);
        cay_op_key_text(&args.j, "path", e->images[e->image_at].path);
        cay_mcp_call_op(q, cay_op_find("file_read"), &args, true);
}

static bool has_image_name(const char *name)
{
        static const char *const ends[] = { ".png", ".jpg", ".jpeg", ".gif", ".webp" };
        size_t len = strlen(name);

        for (unsigned i = 0; i < CAY_COUNT(ends); i++)
                if (len > strlen(ends[i]) && strcmp(name + len - strlen(ends[i]), ends[i]) == 0)
                        return len < CAY_MCP_IMAGE_PATH;
        return false;
}

static void format_time(uint64_t wall_ms, char ret[40])
{
        time_t seconds = (time_t)(wall_ms / 1000);
        struct tm tm;
        char text[24] = "";

        if (gmtime_r(&seconds, &tm))
                strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
        snprintf(ret, 40, "%s.%03uZ", text, (unsigned)(wall_ms % 1000));
}

static void choose_image(struct cay_mcp_exec *e, const struct cay_json_value *entry, const char *since)
{
        const char *name = cay_json_value_text(cay_json_value_find(entry, "name"));
        const char *type = cay_json_value_text(cay_json_value_find(entry, "type"));
        const char *modified = cay_json_value_text(cay_json_value_find(entry, "modified_at"));
        int64_t size = 0;

        cay_json_value_i64(cay_json_value_find(entry, "size"), &size);
        if (e->image_count < CAY_MCP_IMAGES_MAX && name && type && modified && strcmp(type, "file") == 0 &&
            strcmp(modified, since) >= 0 && size <= (int64_t)IMAGE_BYTES_MAX && has_image_name(name))
                snprintf(e->images[e->image_count++].path, CAY_MCP_IMAGE_PATH, "%s", name);
}

static void on_listed(struct cay_mcp_call *c, struct cay_mcp_op_call *q)
{
        struct cay_mcp_exec *e = c->state;
        const struct cay_json_value *entries = cay_json_value_find(q->json, "entries");
        char since[40];

        format_time(c->started_wall_ms - CLOCK_SLACK_MS, since);
        for (size_t i = 0; q->err.code == CAY_OK && i < cay_json_value_count(entries); i++)
                choose_image(e, cay_json_value_at(entries, i), since);
        read_image(e);
}

void cay_mcp_exec_look(struct cay_mcp_exec *e)
{
        cay_auto_call_args struct cay_call_args args = { 0 };
        struct cay_mcp_op_call *q = cay_mcp_op_call_new(e->call, on_listed);

        if (!q)
                return;
        cay_call_args_begin(&args);
        cay_op_key_text(&args.j, "id", e->sandbox);
        cay_op_key_text(&args.j, "path", ".");
        cay_op_key_bool(&args.j, "recursive", true);
        cay_op_key_u64(&args.j, "limit", 1000);
        cay_mcp_call_op(q, cay_op_find("file_list"), &args, false);
}
