/* SPDX-License-Identifier: Apache-2.0 */
/* One strict pass, then skipping. */
#include "foundation/base/json_view.h"

#include <errno.h>
#include <string.h>

#include "foundation/base/parse.h"
#include "foundation/base/utf8.h"

/* The strict pass */

struct pass {
        const char *at, *end;
};

static void skip_blanks(struct pass *p)
{
        while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r'))
                p->at++;
}

static int hex_digit(char c)
{
        if (c >= '0' && c <= '9')
                return c - '0';
        c |= 0x20;
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Four digits behind \u; -1: they are none. */
static int unit(const char *at, const char *end)
{
        int v = 0;

        if (end - at < 4)
                return -1;
        for (unsigned i = 0; i < 4; i++) {
                int digit = hex_digit(at[i]);

                if (digit < 0)
                        return -1;
                v = v << 4 | digit;
        }
        return v;
}

/* Behind a backslash: how many bytes the escape has there, and its character; 0: it is none. */
static size_t escape(const char *at, const char *end, uint32_t *ret)
{
        static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
        const char *found;
        int high, low;

        if (at == end || *at == '\0')
                return 0;
        found = strchr(letters, *at);
        if (found != NULL) {
                *ret = (uint32_t)meant[found - letters];
                return 1;
        }
        high = *at == 'u' ? unit(at + 1, end) : -1;
        if (high < 0 || (high >= 0xdc00 && high < 0xe000))
                return 0;
        *ret = (uint32_t)high;
        if (high < 0xd800 || high >= 0xe000)
                return 5;
        low = end - at >= 11 && at[5] == '\\' && at[6] == 'u' ? unit(at + 7, end) : -1;
        if (low < 0xdc00 || low >= 0xe000)
                return 0;
        *ret = 0x10000 + (((uint32_t)high - 0xd800) << 10) + ((uint32_t)low - 0xdc00);
        return 11;
}

static int pass_string(struct pass *p)
{
        if (p->at == p->end || *p->at != '"')
                return -EBADMSG;
        for (p->at++; p->at < p->end && *p->at != '"';) {
                uint32_t c;
                size_t n;

                if ((unsigned char)*p->at < 0x20)
                        return -EBADMSG;
                if (*p->at == '\\') {
                        n = escape(p->at + 1, p->end, &c);
                        n += n > 0;
                } else {
                        n = cay_utf8_next(p->at, (size_t)(p->end - p->at));
                }
                if (n == 0)
                        return -EBADMSG;
                p->at += n;
        }
        if (p->at == p->end)
                return -EBADMSG;
        p->at++;
        return 0;
}

static bool digits(struct pass *p)
{
        const char *from = p->at;

        while (p->at < p->end && *p->at >= '0' && *p->at <= '9')
                p->at++;
        return p->at > from;
}

static int pass_number(struct pass *p)
{
        if (p->at < p->end && *p->at == '-')
                p->at++;
        if (p->at < p->end && *p->at == '0')
                p->at++;
        else if (!digits(p))
                return -EBADMSG;
        if (p->at < p->end && *p->at == '.') {
                p->at++;
                if (!digits(p))
                        return -EBADMSG;
        }
        if (p->at < p->end && (*p->at | 0x20) == 'e') {
                p->at++;
                if (p->at < p->end && (*p->at == '+' || *p->at == '-'))
                        p->at++;
                if (!digits(p))
                        return -EBADMSG;
        }
        return 0;
}

static int pass_word(struct pass *p, const char *word)
{
        size_t len = strlen(word);

        if ((size_t)(p->end - p->at) < len || memcmp(p->at, word, len) != 0)
                return -EBADMSG;
        p->at += len;
        return 0;
}

static int pass_value(struct pass *p, unsigned depth);

static int pass_key(struct pass *p)
{
        int r = pass_string(p);

        skip_blanks(p);
        if (r == 0 && (p->at == p->end || *p->at++ != ':'))
                r = -EBADMSG;
        skip_blanks(p);
        return r;
}

static int pass_items(struct pass *p, unsigned depth)
{
        char close = *p->at == '{' ? '}' : ']';
        int r = 0;

        if (depth == CAY_JSON_VIEW_DEPTH)
                return -E2BIG;
        p->at++;
        skip_blanks(p);
        if (p->at < p->end && *p->at == close) {
                p->at++;
                return 0;
        }
        for (;;) {
                if (close == '}')
                        r = pass_key(p);
                if (r == 0)
                        r = pass_value(p, depth + 1);
                if (r < 0)
                        return r;
                skip_blanks(p);
                if (p->at == p->end || (*p->at != ',' && *p->at != close))
                        return -EBADMSG;
                if (*p->at++ == close)
                        return 0;
                skip_blanks(p);
        }
}

static int pass_value(struct pass *p, unsigned depth)
{
        if (p->at == p->end)
                return -EBADMSG;
        switch (*p->at) {
        case '{':
        case '[':
                return pass_items(p, depth);
        case '"':
                return pass_string(p);
        case 't':
                return pass_word(p, "true");
        case 'f':
                return pass_word(p, "false");
        case 'n':
                return pass_word(p, "null");
        default:
                return pass_number(p);
        }
}

int cay_json_view_open(const char *text, size_t len, struct cay_json_view *ret)
{
        struct pass p = { text, text + len };
        const char *from;
        int r;

        skip_blanks(&p);
        from = p.at;
        r = pass_value(&p, 0);
        if (r < 0)
                return r;
        *ret = (struct cay_json_view){ from, (size_t)(p.at - from) };
        skip_blanks(&p);
        return p.at == p.end ? 0 : -EBADMSG;
}

/* What is known to be right */

static bool starts(struct cay_json_view v, char c)
{
        return v.len > 0 && v.at[0] == c;
}

static bool is_object_view(struct cay_json_view v)
{
        return starts(v, '{');
}

bool cay_json_view_is_array(struct cay_json_view v)
{
        return starts(v, '[');
}

bool cay_json_view_is_text(struct cay_json_view v)
{
        return starts(v, '"');
}

bool cay_json_view_is_null(struct cay_json_view v)
{
        return v.len == 0 || v.at[0] == 'n';
}

bool cay_json_view_is_true(struct cay_json_view v)
{
        return starts(v, 't');
}

static const char *skip_string(const char *at, const char *end)
{
        for (at++; at < end && *at != '"'; at++)
                if (*at == '\\')
                        at++;
        return at < end ? at + 1 : end;
}

static const char *skip_value(const char *at, const char *end)
{
        unsigned depth = 0;

        while (at < end) {
                if (*at == '"') {
                        at = skip_string(at, end);
                } else if (*at == '{' || *at == '[') {
                        depth++;
                        at++;
                } else if (*at == '}' || *at == ']') {
                        depth--;
                        at++;
                } else if (depth > 0) {
                        at++;
                        continue;
                } else {
                        at += strcspn(at, ",]} \t\r\n"); /* the container's end at the latest */
                        return at < end ? at : end;
                }
                if (depth == 0)
                        break;
        }
        return at;
}

static const char *skip_marks(const char *at, const char *end)
{
        while (at < end && strchr(" \t\r\n,:", *at) != NULL && *at != '\0')
                at++;
        return at;
}

struct cay_json_walk cay_json_view_walk(struct cay_json_view v)
{
        bool is_object = is_object_view(v);

        if (!is_object && !cay_json_view_is_array(v))
                return (struct cay_json_walk){ 0 };
        return (struct cay_json_walk){ v.at + 1, v.at + v.len - 1, is_object };
}

static struct cay_json_view take(struct cay_json_walk *w)
{
        const char *from = skip_marks(w->at, w->end);

        w->at = from < w->end ? skip_value(from, w->end) : w->end;
        return (struct cay_json_view){ from, (size_t)(w->at - from) };
}

bool cay_json_view_next(struct cay_json_walk *w, struct cay_json_view *ret_key,
                        struct cay_json_view *ret_value)
{
        struct cay_json_view key = { 0 }, value;

        if (w->at == NULL)
                return false;
        if (w->is_object)
                key = take(w);
        value = take(w);
        if (value.len == 0)
                return false;
        if (ret_key != NULL)
                *ret_key = key;
        *ret_value = value;
        return true;
}

static struct cay_json_view member(struct cay_json_view object, const char *name, size_t len)
{
        struct cay_json_walk w = cay_json_view_walk(object);
        struct cay_json_view key, value;

        while (w.is_object && cay_json_view_next(&w, &key, &value))
                if (key.len == len + 2 && memcmp(key.at + 1, name, len) == 0)
                        return value;
        return (struct cay_json_view){ 0 };
}

struct cay_json_view cay_json_view_find(struct cay_json_view object, const char *path)
{
        for (;;) {
                size_t len = strcspn(path, ".");

                object = member(object, path, len);
                if (path[len] == '\0')
                        return object;
                path += len + 1;
        }
}

static int put_character(struct cay_buf *out, uint32_t c)
{
        char bytes[4];
        unsigned n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
        static const uint8_t lead[] = { 0, 0, 0xc0, 0xe0, 0xf0 };

        for (unsigned i = n; i-- > 1; c >>= 6)
                bytes[i] = (char)(0x80 | (c & 0x3f));
        bytes[0] = (char)(lead[n] | c);
        return cay_buf_put(out, bytes, n);
}

int cay_json_view_text(struct cay_json_view v, struct cay_buf *out)
{
        const char *at, *end;
        int r = 0;

        if (!cay_json_view_is_text(v)) /* also what is not there at all */
                return -EINVAL;
        at = v.at + 1;
        end = v.at + v.len - 1;
        while (r == 0 && at < end) {
                const char *stop = memchr(at, '\\', (size_t)(end - at));
                size_t plain = (size_t)((stop != NULL ? stop : end) - at);
                uint32_t c;

                r = cay_buf_put(out, at, plain);
                at += plain;
                if (r == 0 && at < end) {
                        at += 1 + escape(at + 1, end, &c);
                        r = put_character(out, c);
                }
        }
        return r;
}

const char *cay_json_view_copy(struct cay_json_view v, char *ret, size_t size)
{
        cay_auto_buf struct cay_buf text = { 0 };
        size_t len;

        cay_buf_init(&text, v.len + 1);
        if (cay_json_view_text(v, &text) < 0)
                cay_buf_clear(&text);
        len = text.len < size - 1 ? text.len : cay_utf8_cut(cay_buf_data(&text), size - 1);
        memcpy(ret, cay_buf_data(&text), len);
        ret[len] = '\0';
        return ret;
}

bool cay_json_view_u64(struct cay_json_view v, uint64_t *ret)
{
        char text[24];

        if (v.len == 0 || v.len >= sizeof(text))
                return false;
        memcpy(text, v.at, v.len);
        text[v.len] = '\0';
        return cay_parse_u64(text, ret) == 0;
}
