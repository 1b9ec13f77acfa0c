/* SPDX-License-Identifier: Apache-2.0 */
/* Parses Docker's answers. The bytes are untrusted: every step is bounded by the length that was read. */
#include "cay/doctor/docker_text.h"

#include <errno.h>
#include <stdint.h>

#include "cay/client/answer.h"
#include "foundation/base/parse.h"
#include "foundation/base/str.h"

#define USUAL_SOCKET "/var/run/docker.sock"
#define USUAL_PORT "2375"

/* false: empty, or too long. */
static bool copy(char *dst, size_t size, const char *from, const char *to)
{
        size_t len = (size_t)(to - from);

        if (len == 0 || len >= size)
                return false;
        memcpy(dst, from, len);
        dst[len] = '\0';
        return true;
}

/* "host:port", "[::1]:port", either without a port; text after a slash is ignored. */
static int parse_tcp(const char *text, struct cay_docker_address *ret)
{
        const char *end = text + strcspn(text, "/"), *host = text, *host_end, *port;
        uint64_t number;

        if (*host == '[') {
                host++;
                host_end = memchr(host, ']', (size_t)(end - host));
                if (host_end == NULL)
                        return -EINVAL;
                port = host_end + 1;
        } else {
                host_end = memchr(host, ':', (size_t)(end - host));
                if (host_end == NULL)
                        host_end = end;
                port = host_end;
        }
        if (!copy(ret->host, sizeof(ret->host), host, host_end))
                return -EINVAL;
        if (port == end)
                return cay_str_copy(ret->port, sizeof(ret->port), USUAL_PORT) ? 0 : -EINVAL;
        if (*port != ':' || !copy(ret->port, sizeof(ret->port), port + 1, end))
                return -EINVAL;
        return cay_parse_u64(ret->port, &number) == 0 && number >= 1 && number <= 65535 ? 0 : -EINVAL;
}

int cay_docker_address_parse(const char *text, struct cay_docker_address *ret)
{
        memset(ret, 0, sizeof(*ret));
        if (text == NULL || text[0] == '\0')
                text = "unix://" USUAL_SOCKET;
        if (cay_str_starts(text, "unix://")) {
                ret->is_unix = true;
                return text[7] != '\0' && cay_str_copy(ret->path, sizeof(ret->path), text + 7) ? 0 : -EINVAL;
        }
        if (cay_str_starts(text, "tcp://"))
                return parse_tcp(text + 6, ret);
        return strstr(text, "://") == NULL ? parse_tcp(text, ret) : -EINVAL;
}

int cay_docker_answer_parse(const char *bytes, size_t len, const char **ret_body, size_t *ret_len)
{
        struct cay_answer a;
        int status = 0;
        ssize_t n;

        cay_answer_init(&a);
        n = cay_answer_feed(&a, bytes, len, ret_body, ret_len);
        if (n >= 0 && cay_answer_has_head(&a)) {
                status = (int)a.status;
                *ret_body = bytes + n;
                *ret_len = len - (size_t)n;
        }
        cay_answer_done(&a);
        return status;
}

struct scan {
        const char *at, *end;
};

static void skip_blanks(struct scan *s)
{
        while (s->at < s->end && strchr(" \t\r\n", *s->at) != NULL && *s->at != '\0')
                s->at++;
}

/* At an opening quote: returns its content (escapes unchanged), and moves past the closing one. */
static bool read_string(struct scan *s, const char **ret, size_t *ret_len)
{
        const char *start = ++s->at;

        for (; s->at < s->end && *s->at != '"'; s->at++)
                if (*s->at == '\\')
                        s->at++;
        if (s->at >= s->end)
                return false;
        *ret = start;
        *ret_len = (size_t)(s->at++ - start);
        return true;
}

static bool take_plain(const char *from, size_t len, char *ret, size_t size)
{
        for (size_t i = 0; i < len; i++)
                if (from[i] < ' ' || from[i] > '~' || from[i] == '\\')
                        return false;
        return copy(ret, size, from, from + len);
}

/* Only strings can hide a brace; outside of them it is enough to count the depth. */
bool cay_docker_member(const char *json, size_t len, const char *key, char *ret, size_t size)
{
        struct scan s = { json, json + len };
        const char *text;
        size_t text_len, depth = 0;

        while (s.at < s.end) {
                bool is_key;

                if (*s.at != '"') {
                        if (*s.at == '{' || *s.at == '[')
                                depth++;
                        else if ((*s.at == '}' || *s.at == ']') && depth > 0)
                                depth--;
                        s.at++;
                        continue;
                }
                if (!read_string(&s, &text, &text_len))
                        return false;
                is_key = depth == 1 && text_len == strlen(key) && memcmp(text, key, text_len) == 0;
                skip_blanks(&s);
                if (!is_key || s.at >= s.end || *s.at != ':')
                        continue;
                s.at++;
                skip_blanks(&s);
                return s.at < s.end && *s.at == '"' && read_string(&s, &text, &text_len) &&
                       take_plain(text, text_len, ret, size);
        }
        return false;
}
