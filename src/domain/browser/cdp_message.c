/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing of single CDP messages; the rules are in cdp_message.h. */
#include "domain/browser/cdp_message.h"

#include <errno.h>
#include <string.h>

#include "foundation/base/json_out.h"

struct reader {
        const char *at, *end;
};

static void skip_blanks(struct reader *r)
{
        while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
                r->at++;
}

/* At a quotation mark: behind the closing one. */
static int skip_string(struct reader *r)
{
        r->at++;
        for (;;) {
                const char *quote = memchr(r->at, '"', (size_t)(r->end - r->at)), *slash;

                if (!quote)
                        return -EBADMSG;
                slash = quote;
                while (slash > r->at && slash[-1] == '\\')
                        slash--;
                r->at = quote + 1;
                /*
                 * An odd number of backslashes escapes it. Those before r->at belong to the part that was
                 * looked at: it ended with a quotation mark.
                 */
                if ((quote - slash) % 2 == 0)
                        return 0;
        }
}

static bool is_scalar(char c)
{
        return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' ||
               c == '+' || c == '.';
}

static bool is_between(char c)
{
        return c == ',' || c == ':' || c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/*
 * Behind the value. Brackets are counted, whichever they are: a text where they do not match is refused by
 * Chromium as a whole.
 */
static int skip_value(struct reader *r, struct cay_json_view *ret)
{
        const char *from = r->at;
        size_t depth = 0;

        do {
                char c;

                if (r->at >= r->end)
                        return -EBADMSG;
                c = *r->at;
                if (c == '"') {
                        if (skip_string(r) < 0)
                                return -EBADMSG;
                } else if (c == '{' || c == '[') {
                        depth++;
                        r->at++;
                } else if (c == '}' || c == ']') {
                        if (depth == 0)
                                return -EBADMSG;
                        depth--;
                        r->at++;
                } else if (is_scalar(c)) {
                        while (r->at < r->end && is_scalar(*r->at))
                                r->at++;
                } else if (depth > 0 && is_between(c)) {
                        r->at++;
                } else {
                        return -EBADMSG;
                }
        } while (depth > 0);
        *ret = (struct cay_json_view){ from, (size_t)(r->at - from) };
        return 0;
}

struct member {
        struct cay_json_view key; /* without its quotation marks */
        struct cay_json_view value;
};

/* 1: a member; 0: the object has ended; -EBADMSG. `first`: none came before. */
static int next_member(struct reader *r, bool first, struct member *ret)
{
        skip_blanks(r);
        if (r->at < r->end && *r->at == '}') {
                r->at++;
                return 0;
        }
        if (!first) {
                if (r->at >= r->end || *r->at != ',')
                        return -EBADMSG;
                r->at++;
                skip_blanks(r);
        }
        if (r->at >= r->end || *r->at != '"')
                return -EBADMSG;
        ret->key.at = r->at + 1;
        if (skip_string(r) < 0)
                return -EBADMSG;
        ret->key.len = (size_t)(r->at - 1 - ret->key.at);
        skip_blanks(r);
        if (r->at >= r->end || *r->at != ':')
                return -EBADMSG;
        r->at++;
        skip_blanks(r);
        return skip_value(r, &ret->value) < 0 ? -EBADMSG : 1;
}

static bool is_key(const struct member *m, const char *name)
{
        return m->key.len == strlen(name) && memcmp(m->key.at, name, m->key.len) == 0;
}

/* A text of these characters alone, which need no escape. */
static int take_plain(struct cay_json_view v, bool (*is_fine)(char c), char *ret, size_t size)
{
        if (v.len < 2 || v.at[0] != '"' || v.len - 2 >= size)
                return -EINVAL;
        for (size_t i = 1; i + 1 < v.len; i++)
                if (!is_fine(v.at[i]))
                        return -EINVAL;
        memcpy(ret, v.at + 1, v.len - 2);
        ret[v.len - 2] = '\0';
        return 0;
}

static bool is_of_method(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
}

static bool is_of_session(char c)
{
        return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'F');
}

static int take_id(struct cay_json_view v, int32_t *ret)
{
        int64_t number = 0;
        bool minus = v.len > 1 && v.at[0] == '-';

        if (v.len - minus > 10 || v.len == 0)
                return -EINVAL;
        for (size_t i = minus; i < v.len; i++) {
                if (v.at[i] < '0' || v.at[i] > '9')
                        return -EINVAL;
                number = number * 10 + (v.at[i] - '0');
        }
        if (minus)
                number = -number;
        if (number > INT32_MAX || number < INT32_MIN)
                return -EINVAL;
        *ret = (int32_t)number;
        return 0;
}

static int take_member(const struct member *m, struct cay_cdp_message *ret)
{
        if (is_key(m, "id")) {
                if (take_id(m->value, &ret->id) < 0)
                        return -EINVAL;
                ret->has_id = true;
        } else if (is_key(m, "method")) {
                return take_plain(m->value, is_of_method, ret->method, sizeof(ret->method));
        } else if (is_key(m, "sessionId")) {
                if (take_plain(m->value, is_of_session, ret->session, sizeof(ret->session)) < 0 ||
                    strlen(ret->session) != CAY_CDP_SESSION_LEN)
                        return -EINVAL;
        } else if (is_key(m, "params")) {
                if (m->value.at[0] != '{')
                        return -EINVAL;
                ret->params = m->value;
        } else if (is_key(m, "result")) {
                ret->result = m->value;
        } else if (is_key(m, "error")) {
                ret->error = m->value;
        }
        return 0;
}

int cay_cdp_message_read(const char *text, size_t len, struct cay_cdp_message *ret)
{
        struct reader r = { text, text + len };
        struct member m;
        bool first = true;
        int n, bad = 0;

        *ret = (struct cay_cdp_message){ 0 };
        if (len == 0 || memchr(text, '\0', len))
                return -EBADMSG;
        skip_blanks(&r);
        if (r.at >= r.end || *r.at != '{')
                return -EBADMSG;
        r.at++;
        while ((n = next_member(&r, first, &m)) == 1) {
                first = false;
                if (take_member(&m, ret) < 0)
                        bad = -EINVAL;
        }
        skip_blanks(&r);
        if (n < 0 || r.at != r.end)
                return -EBADMSG;
        return bad;
}

bool cay_cdp_message_peek_id(const char *text, size_t len, int32_t *ret)
{
        static const char begin[] = "{\"id\":";
        const char *at = text + sizeof(begin) - 1;
        size_t n = 0;

        if (len < sizeof(begin) + 10 || memcmp(text, begin, sizeof(begin) - 1) != 0)
                return false;
        while (n < 11 && at[n] != ',')
                n++;
        return take_id((struct cay_json_view){ at, n }, ret) == 0;
}

/* Writing */

static int put_member(struct cay_buf *out, const char *name, struct cay_json_view value)
{
        if (value.len == 0)
                return 0;
        return cay_buf_printf(out, ",\"%s\":", name) < 0 ? -ENOSPC : cay_buf_put(out, value.at, value.len);
}

static int put_session(struct cay_buf *out, const char *session)
{
        if (session[0] == '\0')
                return cay_buf_putc(out, '}');
        return cay_buf_printf(out, ",\"sessionId\":\"%s\"}", session);
}

/* All or nothing. */
static int finish(struct cay_buf *out, size_t before, int r)
{
        if (r < 0)
                cay_buf_cut(out, before);
        return r;
}

int cay_cdp_put_command(struct cay_buf *out, int32_t id, const char *method, struct cay_json_view params,
                        const char *session)
{
        size_t before = out->len;
        int r = cay_buf_printf(out, "{\"id\":%d,\"method\":\"%s\"", id, method);

        if (r == 0)
                r = put_member(out, "params", params);
        return finish(out, before, r == 0 ? put_session(out, session) : r);
}

int cay_cdp_put_reply(struct cay_buf *out, int32_t id, struct cay_json_view result,
                      struct cay_json_view error, const char *session)
{
        size_t before = out->len;
        int r = cay_buf_printf(out, "{\"id\":%d", id);

        if (r == 0)
                r = error.len > 0 ? put_member(out, "error", error) : put_member(out, "result", result);
        return finish(out, before, r == 0 ? put_session(out, session) : r);
}

int cay_cdp_put_event(struct cay_buf *out, const char *method, struct cay_json_view params,
                      const char *session)
{
        size_t before = out->len;
        int r = cay_buf_printf(out, "{\"method\":\"%s\"", method);

        if (r == 0)
                r = put_member(out, "params", params);
        return finish(out, before, r == 0 ? put_session(out, session) : r);
}

int cay_cdp_put_refusal(struct cay_buf *out, bool has_id, int32_t id, int code, const char *text,
                        const char *session)
{
        size_t before = out->len;
        int r = has_id ? cay_buf_printf(out, "{\"id\":%d,\"error\":{\"code\":%d,\"message\":", id, code)
                       : cay_buf_printf(out, "{\"error\":{\"code\":%d,\"message\":", code);
        struct cay_json j;

        if (r == 0) {
                cay_json_init(&j, out);
                cay_json_text(&j, text);
                r = cay_json_end(&j);
        }
        if (r == 0)
                r = cay_buf_putc(out, '}');
        return finish(out, before, r == 0 ? put_session(out, session) : r);
}

/* Looking into values */

struct cay_json_view cay_cdp_find(struct cay_json_view object, const char *name)
{
        struct reader r = { object.at, object.at + object.len };
        struct member m;
        bool first = true;

        if (object.len == 0 || *r.at != '{')
                return (struct cay_json_view){ 0 };
        r.at++;
        while (next_member(&r, first, &m) == 1) {
                first = false;
                if (is_key(&m, name))
                        return m.value;
        }
        return (struct cay_json_view){ 0 };
}

const char *cay_cdp_find_text(struct cay_json_view object, const char *name, char *ret, size_t size)
{
        struct cay_json_view v = cay_cdp_find(object, name), checked;

        ret[0] = '\0';
        if (v.len > 0 && v.at[0] == '"' && cay_json_view_open(v.at, v.len, &checked) == 0)
                cay_json_view_copy(checked, ret, size);
        return ret;
}

bool cay_cdp_find_session(struct cay_json_view object, const char *name, char ret[CAY_CDP_SESSION_LEN + 1])
{
        struct cay_json_view v = cay_cdp_find(object, name);

        if (take_plain(v, is_of_session, ret, CAY_CDP_SESSION_LEN + 1) == 0 &&
            v.len == CAY_CDP_SESSION_LEN + 2)
                return true;
        ret[0] = '\0';
        return false;
}
