/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/recordings/cast.h"

#include <inttypes.h>
#include <string.h>

#include "foundation/base/json_out.h"

/* What is put into a buffer with JSON text is a line of it. */
static int end_line(struct cay_json *j, struct cay_buf *out)
{
        int r = cay_json_end(j);

        return r < 0 ? r : cay_buf_putc(out, '\n');
}

int cay_cast_head(const struct cay_cast_head *h, struct cay_buf *out)
{
        struct cay_json j;

        cay_json_init(&j, out);
        cay_json_begin_object(&j);
        cay_json_key(&j, "version");
        cay_json_u64(&j, 2);
        cay_json_key(&j, "width");
        cay_json_u64(&j, h->cols);
        cay_json_key(&j, "height");
        cay_json_u64(&j, h->rows);
        cay_json_key(&j, "timestamp");
        cay_json_u64(&j, h->wall_ms / 1000);
        cay_json_key(&j, "title");
        cay_json_text(&j, h->title);
        cay_json_key(&j, "env");
        cay_json_begin_object(&j);
        cay_json_key(&j, "TERM");
        cay_json_text(&j, h->term);
        cay_json_end_object(&j);
        cay_json_end_object(&j);
        return end_line(&j, out);
}

/* [12.345, "o", …] up to the text */
static void begin_line(struct cay_json *j, const struct cay_cast *c, uint64_t at_ms, const char *kind,
                       struct cay_buf *out)
{
        uint64_t ms = at_ms > c->from_ms ? at_ms - c->from_ms : 0;
        char seconds[32];
        int n = snprintf(seconds, sizeof(seconds), "%" PRIu64 ".%03u", ms / 1000, (unsigned)(ms % 1000));

        cay_json_init(j, out);
        cay_json_begin_array(j);
        cay_json_raw(j, seconds, (size_t)n);
        cay_json_text(j, kind);
}

/* How many bytes a character has that begins with this one; 1 where none does. */
static unsigned length_of(unsigned char first)
{
        return first >= 0xf0 && first < 0xf8   ? 4
               : first >= 0xe0 && first < 0xf0 ? 3
               : first >= 0xc2 && first < 0xe0 ? 2
                                               : 1;
}

/* The bytes at the end that begin a character and do not end it. */
static unsigned unfinished(const char *bytes, size_t len)
{
        for (unsigned back = 1; back <= 3 && back <= len; back++) {
                unsigned char c = (unsigned char)bytes[len - back];

                if ((c & 0xc0) != 0x80)
                        return length_of(c) > back ? back : 0;
        }
        return 0;
}

static int put_text(struct cay_cast *c, uint64_t at_ms, const char *bytes, size_t len, struct cay_buf *out)
{
        struct cay_json j;

        begin_line(&j, c, at_ms, "o", out);
        cay_json_string(&j, bytes, len);
        cay_json_end_array(&j);
        return end_line(&j, out);
}

int cay_cast_output(struct cay_cast *c, uint64_t at_ms, const char *bytes, size_t len, struct cay_buf *out)
{
        cay_auto_buf struct cay_buf whole = { 0 };
        unsigned left;
        int r;

        cay_buf_init(&whole, len + sizeof(c->part));
        r = cay_buf_put(&whole, c->part, c->part_len);
        if (r == 0)
                r = cay_buf_put(&whole, bytes, len);
        if (r < 0)
                return r;
        left = unfinished(cay_buf_data(&whole), whole.len);
        memcpy(c->part, cay_buf_data(&whole) + whole.len - left, left);
        c->part_len = left;
        return whole.len > left ? put_text(c, at_ms, cay_buf_data(&whole), whole.len - left, out) : 0;
}

int cay_cast_resize(struct cay_cast *c, uint64_t at_ms, uint64_t rows, uint64_t cols, struct cay_buf *out)
{
        char size[48];
        struct cay_json j;

        snprintf(size, sizeof(size), "%" PRIu64 "x%" PRIu64, cols, rows);
        begin_line(&j, c, at_ms, "r", out);
        cay_json_text(&j, size);
        cay_json_end_array(&j);
        return end_line(&j, out);
}

int cay_cast_end(struct cay_cast *c, uint64_t at_ms, struct cay_buf *out)
{
        unsigned len = c->part_len;

        c->part_len = 0;
        return len > 0 ? put_text(c, at_ms, c->part, len, out) : 0;
}
