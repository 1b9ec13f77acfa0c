/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer: every value passes through begin_value, which knows what the place asks for. */

#include "foundation/base/json_out.h"

#include <errno.h>
#include <inttypes.h>

#include "foundation/base/utf8.h"

static void fail(struct cay_json *j, int r)
{
        if (j->failed == 0)
                j->failed = r;
}

static void put(struct cay_json *j, const char *bytes, size_t len)
{
        int r;

        if (j->failed < 0)
                return;
        r = cay_buf_put(j->out, bytes, len);
        if (r < 0)
                fail(j, r);
}

static bool is_in_object(const struct cay_json *j)
{
        return j->depth > 0 && (j->is_object & 1);
}

static void separate(struct cay_json *j)
{
        if (j->has_items & 1)
                put(j, ",", 1);
        j->has_items |= 1;
}

static bool begin_value(struct cay_json *j)
{
        if (j->depth == 0) {
                if (j->has_root)
                        fail(j, -EINVAL);
                j->has_root = true;
        } else if (is_in_object(j)) {
                if (!j->has_key)
                        fail(j, -EINVAL);
                j->has_key = false;
        } else {
                separate(j);
        }
        return j->failed == 0;
}

static void value(struct cay_json *j, const char *text)
{
        if (begin_value(j))
                put(j, text, strlen(text));
}

static void open_level(struct cay_json *j, bool is_object)
{
        if (!begin_value(j))
                return;
        if (j->depth == CAY_JSON_DEPTH_MAX) {
                fail(j, -E2BIG);
                return;
        }
        put(j, is_object ? "{" : "[", 1);
        j->is_object = j->is_object << 1 | is_object;
        j->has_items <<= 1;
        j->depth++;
}

static void close_level(struct cay_json *j, bool is_object)
{
        if (j->failed < 0)
                return;
        if (j->depth == 0 || is_in_object(j) != is_object || j->has_key) {
                fail(j, -EINVAL);
                return;
        }
        put(j, is_object ? "}" : "]", 1);
        j->is_object >>= 1;
        j->has_items >>= 1;
        j->depth--;
}

static void put_escaped(struct cay_json *j, uint8_t c)
{
        static const char hex[] = "0123456789abcdef";
        char text[] = { '\\', 'u', '0', '0', hex[c >> 4], hex[c & 15] };
        const char *mark = strchr("\"\"\\\\\bb\ff\nn\rr\tt", c);

        /* The list holds pairs; control characters stand only at the even places, letters are never asked for. */
        if (c != '\0' && mark) {
                text[1] = mark[1];
                put(j, text, 2);
                return;
        }
        put(j, text, sizeof(text));
}

#define EACH(byte) (UINT64_C(0x0101010101010101) * (byte))
#define ANY_ZERO(v) (((v)-EACH(1)) & ~(v)&EACH(0x80))

/* How many bytes at s go out as they are, by eights: most of most texts. */
static size_t plain_run(const char *s, size_t len)
{
        size_t n = 0;

        for (; len - n >= 8; n += 8) {
                uint64_t v;

                memcpy(&v, s + n, sizeof(v));
                /* beyond ASCII, below a blank, a quote, a backslash */
                if ((v & EACH(0x80)) | ((v - EACH(0x20)) & ~v & EACH(0x80)) | ANY_ZERO(v ^ EACH('"')) |
                    ANY_ZERO(v ^ EACH('\\')))
                        break;
        }
        return n;
}

static void put_quoted(struct cay_json *j, const char *s, size_t len)
{
        size_t run = plain_run(s, len); /* bytes at s that go out as they are */

        put(j, "\"", 1);
        while (run < len) {
                uint8_t c = (uint8_t)s[run];
                size_t n = c < 0x80 ? 1 : cay_utf8_next(s + run, len - run);

                if (n > 0 && c >= 0x20 && c != '"' && c != '\\') {
                        run += n;
                        continue;
                }
                put(j, s, run);
                if (n == 0)
                        put(j, "\xef\xbf\xbd", 3);
                else
                        put_escaped(j, c);
                s += run + 1;
                len -= run + 1;
                run = plain_run(s, len);
                if (j->failed < 0)
                        return;
        }
        put(j, s, len);
        put(j, "\"", 1);
}

void cay_json_init(struct cay_json *j, struct cay_buf *out)
{
        *j = (struct cay_json){ .out = out };
}

void cay_json_begin_object(struct cay_json *j)
{
        open_level(j, true);
}

void cay_json_end_object(struct cay_json *j)
{
        close_level(j, true);
}

void cay_json_begin_array(struct cay_json *j)
{
        open_level(j, false);
}

void cay_json_end_array(struct cay_json *j)
{
        close_level(j, false);
}

void cay_json_key(struct cay_json *j, const char *key)
{
        if (j->failed < 0)
                return;
        if (!is_in_object(j) || j->has_key) {
                fail(j, -EINVAL);
                return;
        }
        separate(j);
        put_quoted(j, key, strlen(key));
        put(j, ":", 1);
        j->has_key = true;
}

void cay_json_string(struct cay_json *j, const char *s, size_t len)
{
        if (begin_value(j))
                put_quoted(j, s, len);
}

void cay_json_text(struct cay_json *j, const char *s)
{
        if (s)
                cay_json_string(j, s, strlen(s));
        else
                cay_json_null(j);
}

void cay_json_u64(struct cay_json *j, uint64_t v)
{
        char text[24];

        snprintf(text, sizeof(text), "%" PRIu64, v);
        value(j, text);
}

void cay_json_i64(struct cay_json *j, int64_t v)
{
        char text[24];

        snprintf(text, sizeof(text), "%" PRId64, v);
        value(j, text);
}

void cay_json_bool(struct cay_json *j, bool v)
{
        value(j, v ? "true" : "false");
}

void cay_json_null(struct cay_json *j)
{
        value(j, "null");
}

int cay_json_end(struct cay_json *j)
{
        if (j->failed == 0 && (j->depth > 0 || !j->has_root))
                fail(j, -EINVAL);
        return j->failed;
}
