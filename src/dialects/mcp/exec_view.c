/* SPDX-License-Identifier: Apache-2.0 */
/* Output of commands: beginning and end are kept. */
#include "dialects/mcp/exec_view.h"

#include <inttypes.h>
#include <string.h>

#include "foundation/base/base64.h"
#include "foundation/base/utf8.h"

#define PIECE_MAX (1024u * 1024)

void cay_mcp_output_init(struct cay_mcp_output *o)
{
        *o = (struct cay_mcp_output){ 0 };
        for (unsigned i = 0; i < 2; i++) {
                cay_buf_init(&o->streams[i].head, CAY_MCP_HEAD_MAX);
                cay_buf_init(&o->streams[i].tail, PIECE_MAX + CAY_MCP_TAIL_MAX);
        }
}

void cay_mcp_output_done(struct cay_mcp_output *o)
{
        for (unsigned i = 0; i < 2; i++) {
                cay_buf_done(&o->streams[i].head);
                cay_buf_done(&o->streams[i].tail);
        }
}

static void put(struct cay_mcp_text *t, const char *bytes, size_t len)
{
        size_t room = cay_buf_left(&t->head), first = t->tail.len > 0 || t->left_out > 0 ? 0
                                                      : len < room                       ? len
                                                                                         : room;

        t->bytes += len;
        cay_buf_put(&t->head, bytes, first);
        if (first < len && cay_buf_put(&t->tail, bytes + first, len - first) < 0)
                t->left_out += len - first;
        if (t->tail.len > CAY_MCP_TAIL_MAX) {
                t->left_out += t->tail.len - CAY_MCP_TAIL_MAX;
                cay_buf_drop(&t->tail, t->tail.len - CAY_MCP_TAIL_MAX);
        }
}

int cay_mcp_event_bytes(const struct cay_json_value *event, struct cay_buf *out)
{
        const char *text = cay_json_value_text(cay_json_value_find(event, "text"));
        const char *coded = cay_json_value_text(cay_json_value_find(event, "base64"));

        return text ? cay_buf_puts(out, text) : coded ? cay_base64_decode(coded, strlen(coded), out) : -1;
}

static size_t read_on(struct cay_mcp_output *o, struct cay_mcp_text *t, const struct cay_buf *bytes,
                      uint64_t cursor)
{
        size_t room = CAY_MCP_ON_MAX - (size_t)(o->streams[0].bytes + o->streams[1].bytes);
        size_t len = bytes->len, cut;

        if (o->has_gap)
                return 0;
        if (len > room) {
                cut = cay_utf8_cut(cay_buf_data(bytes), room);
                len = cut > 0 ? cut : room;
                o->has_gap = true;
                o->gap = cursor + len;
        }
        t->head.max = CAY_MCP_ON_MAX;
        cay_buf_put(&t->head, cay_buf_data(bytes), len);
        t->bytes += len;
        o->next = cursor + len;
        return len;
}

size_t cay_mcp_output_take(struct cay_mcp_output *o, const char *kind, const struct cay_json_value *event)
{
        unsigned i = strcmp(kind, "stderr") == 0;
        struct cay_mcp_text *t = &o->streams[i];
        cay_auto_buf struct cay_buf bytes = { 0 };
        int64_t cursor = 0;
        uint64_t before = t->bytes;

        if (i == 0 && strcmp(kind, "stdout") != 0)
                return 0;
        cay_buf_init(&bytes, PIECE_MAX);
        if (cay_mcp_event_bytes(event, &bytes) < 0 ||
            !cay_json_value_i64(cay_json_value_find(event, "cursor"), &cursor))
                return 0;
        if (o->reads_on)
                return read_on(o, t, &bytes, (uint64_t)cursor);
        /* Reading on there gives everything that may be left out. */
        if (o->gap == 0 && before + bytes.len > CAY_MCP_HEAD_MAX)
                o->gap = (uint64_t)cursor + (before < CAY_MCP_HEAD_MAX ? CAY_MCP_HEAD_MAX - before : 0);
        put(t, cay_buf_data(&bytes), bytes.len);
        if (t->left_out > 0)
                o->has_gap = true;
        o->next = (uint64_t)cursor + bytes.len;
        return bytes.len;
}

/* A tail may begin inside a character, whose rest is not shown. */
static size_t skip_rest(const char *bytes, size_t len)
{
        size_t n = 0;

        while (n < len && n < 3 && ((unsigned char)bytes[n] & 0xc0) == 0x80)
                n++;
        return n;
}

int cay_mcp_text_put(const struct cay_mcp_text *t, struct cay_buf *out)
{
        size_t head = t->left_out > 0 ? cay_utf8_cut(cay_buf_data(&t->head), t->head.len) : t->head.len;
        size_t skip = t->left_out > 0 ? skip_rest(cay_buf_data(&t->tail), t->tail.len) : 0;
        int r = cay_buf_put(out, cay_buf_data(&t->head), head);

        if (r == 0 && t->left_out > 0)
                r = cay_buf_printf(out, "\n[… %" PRIu64 " bytes left out …]\n",
                                   t->left_out + (t->head.len - head) + skip);
        if (r == 0)
                r = cay_buf_put(out, cay_buf_data(&t->tail) + skip, t->tail.len - skip);
        return r;
}
