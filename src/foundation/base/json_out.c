/* SPDX-License-Identifier: Apache-2.0 */
/* The JSON writer: every value passes through begin_value, which knows what the place asks for. */

#include "foundation/base/json_out.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <time.h>

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

/* Tells the sink, where there is one. False: the text is still to be written. */
static bool pass(struct cay_json *j, enum cay_json_part part, const char *text, size_t len, int64_t number)
{
        int r = 0;

        if (j->failed == 0 && j->watch)
                r = j->watch->put(j->watch, part, text, len, number);
        if (j->failed == 0 && r == 0 && j->sink)
                r = j->sink->put(j->sink, part, text, len, number);
        if (r < 0)
                fail(j, r);
        return j->sink != NULL;
}

static bool is_in_object(const struct cay_json *j)
{
        return j->depth > 0 && (j->is_object & 1);
}

static void separate(struct cay_json *j)
{
        if (j->has_items & 1 && !j->sink)
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

static void value(struct cay_json *j, enum cay_json_part part, int64_t number, const char *text)
{
        if (begin_value(j) && !pass(j, part, NULL, 0, number))
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
        if (!pass(j, is_object ? CAY_JSON_PART_OBJECT : CAY_JSON_PART_ARRAY, NULL, 0, 0))
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
        if (!pass(j, CAY_JSON_PART_END, NULL, 0, 0))
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

        /*
         * The list holds pairs; control characters stand only at the even places, letters are never asked
         * for.
         */
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

void cay_json_init_sink(struct cay_json *j, struct cay_json_sink *sink)
{
        *j = (struct cay_json){ .sink = sink };
}

static int forget(struct cay_json_sink *sink, enum cay_json_part part, const char *text, size_t len,
                  int64_t number)
{
        (void)sink;
        (void)part;
        (void)text;
        (void)len;
        (void)number;
        return 0;
}

static void free_nothing(struct cay_json_sink *sink)
{
        (void)sink;
}

struct cay_json_sink *cay_json_nowhere(void)
{
        static struct cay_json_sink nowhere = { .put = forget, .free = free_nothing };

        return &nowhere;
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
        if (!pass(j, CAY_JSON_PART_KEY, key, strlen(key), 0)) {
                put_quoted(j, key, strlen(key));
                put(j, ":", 1);
        }
        j->has_key = true;
}

void cay_json_string(struct cay_json *j, const char *s, size_t len)
{
        if (begin_value(j) && !pass(j, CAY_JSON_PART_TEXT, s, len, 0))
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
        value(j, CAY_JSON_PART_NUMBER, v < INT64_MAX ? (int64_t)v : INT64_MAX, text);
}

void cay_json_i64(struct cay_json *j, int64_t v)
{
        char text[24];

        snprintf(text, sizeof(text), "%" PRId64, v);
        value(j, CAY_JSON_PART_NUMBER, v, text);
}

void cay_json_bool(struct cay_json *j, bool v)
{
        value(j, CAY_JSON_PART_BOOL, v, v ? "true" : "false");
}

void cay_json_null(struct cay_json *j)
{
        value(j, CAY_JSON_PART_NULL, 0, "null");
}

void cay_json_time(struct cay_json *j, uint64_t wall_ms)
{
        time_t seconds = (time_t)(wall_ms / 1000);
        char text[40], whole[48];
        struct tm tm;

        if (wall_ms == 0 || !gmtime_r(&seconds, &tm) ||
            strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm) == 0) {
                cay_json_null(j);
                return;
        }
        snprintf(whole, sizeof(whole), "%s.%03uZ", text, (unsigned)(wall_ms % 1000));
        cay_json_text(j, whole);
}

bool cay_json_raw_begin(struct cay_json *j)
{
        if (!begin_value(j))
                return false;
        if (j->watch)
                j->failed = j->watch->put(j->watch, CAY_JSON_PART_RAW, NULL, 0, 0);
        return j->failed == 0;
}

void cay_json_raw(struct cay_json *j, const char *json, size_t len)
{
        if (begin_value(j) && !pass(j, CAY_JSON_PART_RAW, json, len, 0))
                put(j, json, len);
}

int cay_json_end(struct cay_json *j)
{
        if (j->failed == 0 && (j->depth > 0 || !j->has_root))
                fail(j, -EINVAL);
        return j->failed;
}
