/* SPDX-License-Identifier: Apache-2.0 */
/* Request targets, queries and hosts. */
#include "foundation/http/target.h"

#include <errno.h>

#include "foundation/base/utf8.h"
#include "foundation/http/chars.h"

static int refuse(struct cay_http_fault *ret, const char *text)
{
        *ret = (struct cay_http_fault){ .status = 400, .text = text };
        return -1;
}

ssize_t cay_http_decode(const char *text, size_t len, bool plus, char *out)
{
        size_t n = 0;

        for (size_t i = 0; i < len; i++) {
                char c = text[i];

                if (c == '%') {
                        int high = i + 2 < len ? cay_http_hex_digit(text[i + 1]) : -1;
                        int low = high >= 0 ? cay_http_hex_digit(text[i + 2]) : -1;

                        if (low < 0)
                                return -EINVAL;
                        c = (char)(high << 4 | low);
                        i += 2;
                } else if (c == '+' && plus) {
                        c = ' ';
                }
                if (c == '\0')
                        return -EINVAL;
                out[n++] = c;
        }
        out[n] = '\0';
        return (ssize_t)n;
}

/* Paths */

static bool has_control(const char *s, size_t len)
{
        for (size_t i = 0; i < len; i++) {
                if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
                        return true;
        }
        return false;
}

/* One segment, decoded to out. Its length or -1. */
static ssize_t read_segment(const char *text, size_t len, char *out, struct cay_http_fault *ret_fault)
{
        ssize_t n;

        if (memchr(text, '\\', len))
                return refuse(ret_fault, "the path has a backslash");
        n = cay_http_decode(text, len, false, out);
        if (n < 0)
                return refuse(ret_fault, "the path has a broken percent escape");
        if (has_control(out, (size_t)n))
                return refuse(ret_fault, "the path has an encoded control character");
        if (!cay_utf8_valid(out, (size_t)n))
                return refuse(ret_fault, "the path is not UTF-8");
        if (strcmp(out, ".") == 0 || strcmp(out, "..") == 0)
                return refuse(ret_fault, "the path has a dot segment");
        return n;
}

static int split_path(struct cay_http_target *t, char *room, struct cay_http_fault *ret_fault)
{
        const char *at = t->path + 1;

        for (;;) {
                size_t len = strcspn(at, "/");
                ssize_t n = read_segment(at, len, room, ret_fault);

                if (n < 0)
                        return -1;
                if (t->count < CAY_HTTP_SEGMENTS_MAX) {
                        t->segments[t->count] = room;
                        t->raw[t->count++] = at;
                        room += n + 1;
                } else {
                        t->cut = true; /* checked all the same */
                }
                if (!at[len])
                        return 0;
                at += len + 1;
        }
}

int cay_http_target_split(struct cay_http_target *t, char *text, char *room, struct cay_http_fault *ret_fault)
{
        char *question;

        *t = (struct cay_http_target){ .path = text };
        if (strcmp(text, "*") == 0)
                return 0;
        if (text[0] != '/')
                return refuse(ret_fault, "the request target is not a path");
        if (strchr(text, '#'))
                return refuse(ret_fault, "the request target has a fragment");
        question = strchr(text, '?');
        if (question) {
                *question = '\0';
                t->query = question + 1;
        }
        return split_path(t, room, ret_fault);
}

/* Queries */

int cay_http_query_next(struct cay_http_query *q)
{
        const char *start, *equals;
        size_t len, name_len;
        ssize_t n, v = 0;

        for (;;) {
                if (!q->at || !*q->at)
                        return 0;
                start = q->at;
                len = strcspn(start, "&");
                q->at = start[len] ? start + len + 1 : start + len;
                if (len > 0)
                        break;
        }
        if (len + 2 > q->room_size)
                return -ENOSPC;
        equals = memchr(start, '=', len);
        name_len = equals ? (size_t)(equals - start) : len;
        n = cay_http_decode(start, name_len, true, q->room);
        if (n < 0)
                return (int)n;
        q->name = q->room;
        q->value = q->room + n;
        if (equals) {
                v = cay_http_decode(equals + 1, len - name_len - 1, true, q->room + n + 1);
                q->value++;
        }
        if (v < 0 || !cay_utf8_valid(q->name, (size_t)n) ||
            (!q->takes_bytes && !cay_utf8_valid(q->value, (size_t)v)))
                return -EINVAL;
        return 1;
}

int cay_http_query_get(const char *query, const char *name, char *room, size_t room_size,
                       const char **ret_value)
{
        struct cay_http_query q = { .at = query, .room = room, .room_size = room_size };
        bool found = false;
        int r;

        while ((r = cay_http_query_next(&q)) > 0) {
                size_t used;

                if (strcmp(q.name, name) != 0)
                        continue;
                if (found)
                        return -EEXIST;
                found = true;
                *ret_value = q.value;
                /* The rest of the walk, which only looks for a second one, has what is left of the room. */
                used = (size_t)(q.value - q.room) + strlen(q.value) + 1;
                q.room += used;
                q.room_size -= used;
        }
        return r < 0 ? r : found;
}

/* Hosts */

static bool is_name_char(char c)
{
        return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '_';
}

static bool is_address_char(char c)
{
        return cay_http_hex_digit(c) >= 0 || c == ':' || c == '.';
}

static int read_port(const char *text, size_t len, uint16_t *ret)
{
        unsigned port = 0;

        if (len == 0 || len > 5 || text[0] == '0')
                return -EINVAL;
        for (size_t i = 0; i < len; i++) {
                if (text[i] < '0' || text[i] > '9')
                        return -EINVAL;
                port = port * 10 + (unsigned)(text[i] - '0');
        }
        if (port > UINT16_MAX)
                return -EINVAL;
        *ret = (uint16_t)port;
        return 0;
}

int cay_http_host_split(const char *text, size_t len, char host[CAY_HTTP_HOST_MAX + 1], uint16_t *ret_port)
{
        bool is_bracketed = len > 0 && text[0] == '[';
        size_t n = 0;

        *ret_port = 0;
        if (is_bracketed) {
                host[n++] = '[';
                while (n < len && n < CAY_HTTP_HOST_MAX - 1 && is_address_char(text[n])) {
                        host[n] = text[n] >= 'A' && text[n] <= 'F' ? (char)(text[n] + 32) : text[n];
                        n++;
                }
                if (n < 3 || n == len || text[n] != ']')
                        return -EINVAL;
                host[n++] = ']';
        } else {
                while (n < len && n < CAY_HTTP_HOST_MAX) {
                        char c = text[n] >= 'A' && text[n] <= 'Z' ? (char)(text[n] + 32) : text[n];

                        if (!is_name_char(c))
                                break;
                        host[n++] = c;
                }
                if (n == 0)
                        return -EINVAL;
        }
        host[n] = '\0';
        if (n == len)
                return 0;
        return text[n] == ':' ? read_port(text + n + 1, len - n - 1, ret_port) : -EINVAL;
}
