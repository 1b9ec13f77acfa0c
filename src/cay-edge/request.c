/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-edge/request.h"

#include <string.h>
#include <strings.h>

#include "foundation/base/base64.h"

#define BODY_MAX UINT64_MAX
#define BASIC "Basic "
#define BASIC_MAX (16u * 1024)

static const struct cay_http_head_limits limits = { .line_bytes = 16384,
                                                    .head_bytes = EDGE_HEAD_MAX,
                                                    .lines = CAY_HTTP_LINES_MAX };

static bool refuse(struct edge_request *r, unsigned status, const char *text)
{
        r->fault = (struct cay_http_fault){ status, text };
        r->state = EDGE_REFUSED;
        return false;
}

/* Values */

/* Appends the text with every placeholder replaced. */
static int put_replaced(const struct edge_secret *s, const char *text, size_t len, struct cay_buf *out)
{
        size_t mark = strlen(s->placeholder);
        const char *end = text + len, *at;
        int r = 0;

        while (r == 0 && (at = memmem(text, (size_t)(end - text), s->placeholder, mark))) {
                r = cay_buf_put(out, text, (size_t)(at - text));
                if (r == 0)
                        r = cay_buf_puts(out, s->value);
                text = at + mark;
        }
        return r == 0 ? cay_buf_put(out, text, (size_t)(end - text)) : r;
}

static bool contains(const struct edge_secret *s, const char *text, size_t len)
{
        return memmem(text, len, s->placeholder, strlen(s->placeholder)) != NULL;
}

/*
 * "Basic" and the base 64 of user:placeholder, as git, pip and curl -u send it. False: it is something else.
 */
static bool put_basic(const struct edge_secret *s, const char *value, size_t len, struct cay_buf *out)
{
        const size_t skip = sizeof(BASIC) - 1;
        cay_auto_buf struct cay_buf plain = { 0 }, replaced = { 0 };
        size_t before = out->len;

        cay_buf_init(&plain, BASIC_MAX);
        cay_buf_init(&replaced, EDGE_OUT_MAX);
        if (len <= skip || strncasecmp(value, BASIC, skip) != 0 ||
            cay_base64_decode(value + skip, len - skip, &plain) < 0 ||
            !contains(s, cay_buf_data(&plain), plain.len) ||
            put_replaced(s, cay_buf_data(&plain), plain.len, &replaced) < 0)
                return false;
        if (cay_buf_puts(out, BASIC) == 0 &&
            cay_base64_encode(cay_buf_data(&replaced), replaced.len, out) == 0)
                return true;
        cay_buf_cut(out, before);
        return false;
}

static const struct edge_secret *find_secret(const struct edge_order *o, const char *name, size_t len,
                                             const char *value, size_t value_len)
{
        const struct edge_secret *found = NULL;

        for (uint32_t i = 0; i < o->count; i++) {
                const struct edge_secret *s = &o->secrets[i];

                if (strlen(s->header) != len || strncasecmp(s->header, name, len) != 0)
                        continue;
                found = s;
                if (contains(s, value, value_len))
                        break;
        }
        return found;
}

static int put_value(const struct edge_secret *s, const char *value, size_t len, struct cay_buf *out)
{
        if (!s)
                return cay_buf_put(out, value, len);
        return put_basic(s, value, len, out) ? 0 : put_replaced(s, value, len, out);
}

/* Heads */

/* The host that the connection is for, with or without its port. */
static bool is_own_host(const struct edge_order *o, const char *value, size_t len)
{
        size_t host = strlen(o->host);

        return len >= host && strncasecmp(value, o->host, host) == 0 &&
               (len == host || (len == host + 4 && memcmp(value + host, ":443", 4) == 0));
}

static int put_head(const struct edge_request *r, const struct cay_http_head *h, const char *bytes,
                    size_t len, struct cay_buf *out)
{
        size_t done = 0;
        int e = 0;

        for (unsigned i = 0; i < h->line_count && e == 0; i++) {
                const struct cay_http_line *l = &h->lines[i];
                const struct edge_secret *s =
                        find_secret(r->order, bytes + l->name, l->name_len, bytes + l->value, l->value_len);

                e = cay_buf_put(out, bytes + done, l->value - done);
                if (e == 0)
                        e = put_value(s, bytes + l->value, l->value_len, out);
                done = (size_t)l->value + l->value_len;
        }
        return e == 0 ? cay_buf_put(out, bytes + done, len - done) : e;
}

static bool pass_head(struct edge_request *r, struct cay_buf *in, struct cay_buf *out)
{
        const char *bytes = cay_buf_data(in);
        struct cay_http_head h;
        size_t before = out->len;
        ssize_t len = cay_http_head_find(&r->search, bytes, in->len, &limits, &r->fault);

        if (len == 0)
                return false;
        if (len < 0 || cay_http_head_parse_request(&h, bytes, (size_t)len, &r->fault) < 0) {
                r->state = EDGE_REFUSED;
                return false;
        }
        if (!is_own_host(r->order, bytes + h.host, h.host_len) || bytes[h.target] != '/') {
                r->is_other_host = true;
                return refuse(r, 421, "This connection is for another host.");
        }
        if (cay_http_body_begin(&r->body, h.framing, h.length, BODY_MAX) < 0)
                return refuse(r, 413, "The body is too long.");
        if (put_head(r, &h, bytes, (size_t)len, out) < 0) {
                cay_buf_cut(out, before);
                return refuse(r, 431, "The head is too long.");
        }
        r->search = (struct cay_http_head_search){ 0 };
        r->is_begun = true;
        r->state = h.upgrade ? EDGE_RAW : r->body.done ? EDGE_AT_HEAD : EDGE_IN_BODY;
        cay_buf_drop(in, (size_t)len);
        return true;
}

/* Bodies */

static bool pass(struct cay_buf *in, size_t len, struct cay_buf *out)
{
        if (len == 0 || cay_buf_put(out, cay_buf_data(in), len) < 0)
                return false;
        cay_buf_drop(in, len);
        return true;
}

static bool pass_body(struct edge_request *r, struct cay_buf *in, struct cay_buf *out)
{
        size_t framing = 0, body = 0;

        if (cay_http_body_look(&r->body, cay_buf_data(in), in->len, &framing, &body) < 0)
                return refuse(r, 400, "The body is malformed.");
        if (framing + body > 0 && !pass(in, framing + body, out))
                return refuse(r, 500, "No memory.");
        cay_http_body_took(&r->body, body);
        if (r->body.done)
                r->state = EDGE_AT_HEAD;
        return framing + body > 0 || r->body.done;
}

bool edge_request_step(struct edge_request *r, struct cay_buf *in, struct cay_buf *out)
{
        switch (r->state) {
        case EDGE_AT_HEAD:
                return cay_buf_left(out) >= EDGE_OUT_MAX && pass_head(r, in, out);
        case EDGE_IN_BODY:
                return cay_buf_left(out) >= in->len && pass_body(r, in, out);
        case EDGE_RAW:
                return cay_buf_left(out) >= in->len && pass(in, in->len, out);
        case EDGE_REFUSED:
                break;
        }
        return false;
}
