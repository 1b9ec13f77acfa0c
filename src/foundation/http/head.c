/* SPDX-License-Identifier: Apache-2.0 */
/* The first reader of message heads (libc alone); head.h says why there are two, and what is refused. */
#include "foundation/http/head.h"

#include "foundation/http/chars.h"

static const char *const method_words[CAY_HTTP_METHOD_COUNT] = {
        [CAY_HTTP_NO_METHOD] = "",    [CAY_HTTP_GET] = "GET",         [CAY_HTTP_HEAD] = "HEAD",
        [CAY_HTTP_POST] = "POST",     [CAY_HTTP_PUT] = "PUT",         [CAY_HTTP_PATCH] = "PATCH",
        [CAY_HTTP_DELETE] = "DELETE", [CAY_HTTP_OPTIONS] = "OPTIONS",
};

const char *cay_http_method_word(enum cay_http_method method)
{
        return method < CAY_HTTP_METHOD_COUNT ? method_words[method] : "";
}

enum cay_http_method cay_http_method_find(const char *word, size_t len)
{
        for (unsigned m = CAY_HTTP_NO_METHOD + 1; m < CAY_HTTP_METHOD_COUNT; m++) {
                if (strlen(method_words[m]) == len && memcmp(method_words[m], word, len) == 0)
                        return m;
        }
        return CAY_HTTP_NO_METHOD;
}

static int refuse(struct cay_http_fault *ret, unsigned status, const char *text)
{
        *ret = (struct cay_http_fault){ .status = status, .text = text };
        return -1;
}

/* Finding the end */

static int check_line(const struct cay_http_head_search *s, const struct cay_http_head_limits *limits,
                      struct cay_http_fault *ret_fault)
{
        if (s->lines == 1 && s->line_start > limits->line_bytes)
                return refuse(ret_fault, 414, "the request line is too long");
        if (s->lines > limits->lines + 1)
                return refuse(ret_fault, 431, "too many header fields");
        return 0;
}

ssize_t cay_http_head_find(struct cay_http_head_search *s, const char *bytes, size_t len,
                           const struct cay_http_head_limits *limits, struct cay_http_fault *ret_fault)
{
        const char *lf;

        if (len > 0 && s->scanned == 0 && !cay_http_is_token_char(bytes[0]))
                return refuse(ret_fault, 400, "this is not HTTP/1");
        while ((lf = memchr(bytes + s->scanned, '\n', len - s->scanned))) {
                size_t at = (size_t)(lf - bytes);

                if (at == 0 || lf[-1] != '\r')
                        return refuse(ret_fault, 400, "a line ends with a bare line feed");
                if (at + 1 > limits->head_bytes)
                        return refuse(ret_fault, s->lines == 0 ? 414 : 431, "the header is too large");
                if (at - 1 == s->line_start)
                        return (ssize_t)at + 1;
                s->scanned = s->line_start = (uint32_t)at + 1;
                s->lines++;
                if (check_line(s, limits, ret_fault) < 0)
                        return -1;
        }
        s->scanned = (uint32_t)(len < CAY_HTTP_HEAD_MAX ? len : CAY_HTTP_HEAD_MAX);
        if (s->lines == 0 && len > limits->line_bytes)
                return refuse(ret_fault, 414, "the request line is too long");
        if (len >= limits->head_bytes)
                return refuse(ret_fault, 431, "the header is too large");
        return 0;
}

/* First lines */

/* "HTTP/1.0" or "HTTP/1.1"; other versions have their own status. */
static int read_version(struct cay_http_head *h, const char *at, size_t len, struct cay_http_fault *ret_fault)
{
        if (len != 8 || memcmp(at, "HTTP/", 5) != 0 || at[5] < '0' || at[5] > '9' || at[6] != '.' ||
            at[7] < '0' || at[7] > '9')
                return refuse(ret_fault, 400, "the request line does not end with HTTP/1.1");
        if (at[5] != '1' || at[7] > '1')
                return refuse(ret_fault, 505, "only HTTP/1.1 and HTTP/1.0 are served");
        h->minor = (unsigned)(at[7] - '0');
        return 0;
}

static bool is_target(const char *s, size_t len)
{
        for (size_t i = 0; i < len; i++) {
                if (s[i] <= 0x20 ||
                    s[i] == 0x7f) /* char may be signed: bytes from 0x80 are refused either way */
                        return false;
                if ((unsigned char)s[i] >= 0x80)
                        return false;
        }
        return len > 0;
}

static int read_request_line(struct cay_http_head *h, const char *bytes, size_t len,
                             struct cay_http_fault *ret_fault)
{
        const char *end = bytes + len, *space = memchr(bytes, ' ', len), *second;

        if (!space || !cay_http_is_token(bytes, (size_t)(space - bytes)))
                return refuse(ret_fault, 400, "the request line does not start with a method");
        second = memchr(space + 1, ' ', (size_t)(end - space - 1));
        if (!second || !is_target(space + 1, (size_t)(second - space - 1)))
                return refuse(ret_fault, 400,
                              "the request target is empty or has characters that must be encoded");
        if (read_version(h, second + 1, (size_t)(end - second - 1), ret_fault) < 0)
                return -1;
        h->method = cay_http_method_find(bytes, (size_t)(space - bytes));
        if (h->method == CAY_HTTP_NO_METHOD)
                return refuse(ret_fault, 501, "this method is not served");
        h->target = (uint16_t)(space + 1 - bytes);
        h->target_len = (uint16_t)(second - space - 1);
        return 0;
}

static int read_status_line(struct cay_http_head *h, const char *bytes, size_t len,
                            struct cay_http_fault *ret_fault)
{
        if (len < 12 || read_version(h, bytes, 8, ret_fault) < 0 || bytes[8] != ' ')
                return refuse(ret_fault, 502, "the status line is not HTTP/1");
        for (unsigned i = 9; i < 12; i++) {
                if (bytes[i] < '0' || bytes[i] > '9')
                        return refuse(ret_fault, 502, "the status is not a number of three digits");
                h->status = h->status * 10 + (unsigned)(bytes[i] - '0');
        }
        if (h->status < 100 || h->status > 599 || (len > 12 && bytes[12] != ' ') ||
            !cay_http_is_value(bytes, len))
                return refuse(ret_fault, 502, "the status line is malformed");
        return 0;
}

/* Fields */

/* The framing fields seen so far; each may appear only once. */
struct said {
        bool length, coding, host, expect, connection_close, connection_keep, connection_upgrade, upgrade;
};

static int read_length(struct cay_http_head *h, struct said *said, const char *value, size_t len,
                       struct cay_http_fault *ret_fault)
{
        uint64_t v = 0;

        if (said->length)
                return refuse(ret_fault, 400, "Content-Length is given twice");
        said->length = true;
        if (len == 0 || len > 19)
                return refuse(ret_fault, 400, "Content-Length is not a number");
        for (size_t i = 0; i < len; i++) {
                if (value[i] < '0' || value[i] > '9')
                        return refuse(ret_fault, 400, "Content-Length is not a number");
                v = v * 10 + (uint64_t)(value[i] - '0');
        }
        if (v > INT64_MAX) /* 19 digits do not overflow 64 bits */
                return refuse(ret_fault, 400, "Content-Length is too large");
        h->length = v;
        return 0;
}

static int read_coding(struct said *said, const char *value, size_t len, struct cay_http_fault *ret_fault)
{
        if (said->coding)
                return refuse(ret_fault, 400, "Transfer-Encoding is given twice");
        said->coding = true;
        if (!cay_http_same_name(value, len, "chunked"))
                return refuse(ret_fault, 400, "the only Transfer-Encoding served is chunked");
        return 0;
}

static int read_expect(struct cay_http_head *h, struct said *said, const char *value, size_t len,
                       struct cay_http_fault *ret_fault)
{
        if (said->expect || !cay_http_same_name(value, len, "100-continue"))
                return refuse(ret_fault, 417, "the only expectation served is 100-continue");
        said->expect = true;
        h->expect_continue = true;
        return 0;
}

static int read_host(struct cay_http_head *h, struct said *said, const struct cay_http_line *line,
                     struct cay_http_fault *ret_fault)
{
        if (said->host)
                return refuse(ret_fault, 400, "Host is given twice");
        said->host = true;
        h->host = line->value;
        h->host_len = line->value_len;
        return 0;
}

static void read_connection(struct said *said, const char *value, size_t len)
{
        said->connection_close |= cay_http_list_has(value, len, "close");
        said->connection_keep |= cay_http_list_has(value, len, "keep-alive");
        said->connection_upgrade |= cay_http_list_has(value, len, "upgrade");
}

static int note_field(struct cay_http_head *h, struct said *said, const char *bytes,
                      const struct cay_http_line *line, bool is_request, struct cay_http_fault *ret_fault)
{
        const char *name = bytes + line->name, *value = bytes + line->value;
        size_t len = line->value_len;

        /* Check the length of the name first: most fields are none of these. */
        switch (line->name_len) {
        case 4:
                if (is_request && cay_http_same_name(name, 4, "host"))
                        return read_host(h, said, line, ret_fault);
                break;
        case 6:
                if (is_request && cay_http_same_name(name, 6, "expect"))
                        return read_expect(h, said, value, len, ret_fault);
                break;
        case 7:
                said->upgrade |= cay_http_same_name(name, 7, "upgrade");
                break;
        case 10:
                if (cay_http_same_name(name, 10, "connection"))
                        read_connection(said, value, len);
                break;
        case 14:
                if (cay_http_same_name(name, 14, "content-length"))
                        return read_length(h, said, value, len, ret_fault);
                break;
        case 17:
                if (cay_http_same_name(name, 17, "transfer-encoding"))
                        return read_coding(said, value, len, ret_fault);
                break;
        default:
                break;
        }
        return 0;
}

/* One line without its CRLF into *ret. */
static int read_field(const char *bytes, size_t start, size_t end, struct cay_http_line *ret,
                      struct cay_http_fault *ret_fault)
{
        size_t colon = start;

        while (colon < end && cay_http_is_token_char(bytes[colon]))
                colon++;
        if (colon == start)
                return refuse(ret_fault, 400,
                              "a header line starts with no field name (folded lines are not served)");
        if (colon == end || bytes[colon] != ':')
                return refuse(ret_fault, 400, "a field name is not followed by a colon");
        ret->name = (uint16_t)start;
        ret->name_len = (uint16_t)(colon - start);
        start = colon + 1;
        while (start < end && (bytes[start] == ' ' || bytes[start] == '\t'))
                start++;
        while (end > start && (bytes[end - 1] == ' ' || bytes[end - 1] == '\t'))
                end--;
        if (!cay_http_is_value(bytes + start, end - start))
                return refuse(ret_fault, 400, "a field value has control characters");
        ret->value = (uint16_t)start;
        ret->value_len = (uint16_t)(end - start);
        return 0;
}

static int read_fields(struct cay_http_head *h, struct said *said, const char *bytes, size_t start,
                       size_t len, bool is_request, struct cay_http_fault *ret_fault)
{
        while (start < len - 2) {
                const char *lf = memchr(bytes + start, '\n', len - start);
                size_t end = (size_t)(lf - bytes) - 1;
                struct cay_http_line *line = &h->lines[h->line_count];

                if (h->line_count == CAY_HTTP_LINES_MAX)
                        return refuse(ret_fault, 431, "too many header fields");
                if (read_field(bytes, start, end, line, ret_fault) < 0 ||
                    note_field(h, said, bytes, line, is_request, ret_fault) < 0)
                        return -1;
                h->line_count++;
                start = end + 2;
        }
        return 0;
}

/* Judgement */

static void note_said(struct cay_http_head *h, const struct said *said)
{
        h->keep_alive = h->minor == 1 && !said->connection_close;
        h->upgrade = h->minor == 1 && said->connection_upgrade && said->upgrade;
        h->is_chunked = said->coding;
        h->has_length = said->length;
}

static int judge_request(struct cay_http_head *h, const struct said *said, struct cay_http_fault *ret_fault)
{
        note_said(h, said);
        if (said->coding && said->length)
                return refuse(ret_fault, 400, "Content-Length and Transfer-Encoding contradict each other");
        if (said->coding && h->minor == 0)
                return refuse(ret_fault, 400, "HTTP/1.0 knows no Transfer-Encoding");
        if (!said->host && h->minor == 1)
                return refuse(ret_fault, 400, "the Host field is missing");
        if (h->expect_continue && h->minor == 0)
                h->expect_continue = false; /* RFC 9110, 10.1.1: to be ignored */
        h->framing = said->coding ? CAY_HTTP_CHUNKED : said->length ? CAY_HTTP_LENGTH : CAY_HTTP_NO_BODY;
        return 0;
}

static int judge_response(struct cay_http_head *h, const struct said *said, enum cay_http_method method,
                          struct cay_http_fault *ret_fault)
{
        note_said(h, said);
        if (said->coding && (said->length || h->minor == 0))
                return refuse(ret_fault, 502, "the response's framing contradicts itself");
        if (h->status == 101)
                h->framing = CAY_HTTP_NO_BODY;
        else if (h->status < 200 || h->status == 204 || h->status == 304 || method == CAY_HTTP_HEAD)
                h->framing = CAY_HTTP_NO_BODY;
        else if (said->coding)
                h->framing = CAY_HTTP_CHUNKED;
        else
                h->framing = said->length ? CAY_HTTP_LENGTH : CAY_HTTP_UNTIL_CLOSE;
        return 0;
}

static size_t first_line_len(const char *bytes, size_t len)
{
        const char *lf = memchr(bytes, '\n', len);

        return (size_t)(lf - bytes) - 1;
}

int cay_http_head_read_request(struct cay_http_head *h, const char *bytes, size_t len,
                               struct cay_http_fault *ret_fault)
{
        size_t first = first_line_len(bytes, len);
        struct said said = { 0 };

        memset(h, 0, offsetof(struct cay_http_head, lines));
        if (read_request_line(h, bytes, first, ret_fault) < 0 ||
            read_fields(h, &said, bytes, first + 2, len, true, ret_fault) < 0)
                return -1;
        return judge_request(h, &said, ret_fault);
}

int cay_http_head_read_response(struct cay_http_head *h, enum cay_http_method method, const char *bytes,
                                size_t len, struct cay_http_fault *ret_fault)
{
        size_t first = first_line_len(bytes, len);
        struct said said = { 0 };

        memset(h, 0, offsetof(struct cay_http_head, lines));
        if (read_status_line(h, bytes, first, ret_fault) == 0 &&
            read_fields(h, &said, bytes, first + 2, len, false, ret_fault) == 0 &&
            judge_response(h, &said, method, ret_fault) == 0)
                return 0;
        ret_fault->status = 502;
        return -1;
}
