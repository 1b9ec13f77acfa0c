/* SPDX-License-Identifier: Apache-2.0 */
/* From bytes to a status and a body. */
#include "cay/client/answer.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "foundation/base/parse.h"
#include "foundation/base/str.h"

#define LINE_MAX_BYTES 1024u /* of chunking */
#define INTERIMS_MAX 8u

void cay_answer_init(struct cay_answer *a)
{
        *a = (struct cay_answer){ .state = CAY_ANSWER_HEAD };
        cay_buf_init(&a->line, CAY_ANSWER_HEAD_MAX);
}

void cay_answer_done(struct cay_answer *a)
{
        cay_buf_done(&a->line);
}

bool cay_answer_has_head(const struct cay_answer *a)
{
        return a->state != CAY_ANSWER_HEAD && a->state != CAY_ANSWER_FAILED;
}

/* "HTTP/1.1 200 OK" */
static int read_status(struct cay_answer *a, const char *line)
{
        if (!cay_str_starts(line, "HTTP/1.1 ") && !cay_str_starts(line, "HTTP/1.0 "))
                return -EBADMSG;
        a->closes = line[7] == '0';
        line += 9;
        a->status = 0;
        for (unsigned i = 0; i < 3; i++) {
                if (line[i] < '0' || line[i] > '9')
                        return -EBADMSG;
                a->status = a->status * 10 + (unsigned)(line[i] - '0');
        }
        if (line[3] != ' ' && line[3] != '\0')
                return -EBADMSG;
        return a->status >= 100 && a->status != 101 ? 0 : -EBADMSG;
}

struct framing {
        bool has_length, is_chunked;
        uint64_t length;
};

static int read_length(struct framing *f, const char *value)
{
        uint64_t length;

        if (cay_parse_u64(value, &length) < 0 || (f->has_length && f->length != length))
                return -EBADMSG;
        f->has_length = true;
        f->length = length;
        return 0;
}

static int read_field(struct cay_answer *a, struct framing *f, char *line)
{
        char *colon = strchr(line, ':'), *value, *end;

        if (colon == NULL || colon == line || strcspn(line, " \t") < (size_t)(colon - line))
                return -EBADMSG;
        *colon = '\0';
        value = colon + 1 + strspn(colon + 1, " \t");
        for (end = value + strlen(value); end > value && strchr(" \t", end[-1]) != NULL;)
                *--end = '\0';
        if (strcasecmp(line, "content-length") == 0)
                return read_length(f, value);
        if (strcasecmp(line, "transfer-encoding") == 0) {
                if (f->is_chunked || strcasecmp(value, "chunked") != 0)
                        return -EBADMSG;
                f->is_chunked = true;
        } else if (strcasecmp(line, "content-type") == 0) {
                cay_str_copy(a->type, sizeof(a->type), value);
        } else if (strcasecmp(line, "connection") == 0 && strcasecmp(value, "close") == 0) {
                a->closes = true;
        }
        return 0;
}

static int begin_body(struct cay_answer *a, const struct framing *f)
{
        if (f->has_length && f->is_chunked)
                return -EBADMSG;
        cay_buf_clear(&a->line);
        a->line.max = LINE_MAX_BYTES;
        a->has_length = f->has_length;
        a->length = a->left = f->length;
        if (a->status == 204 || a->status == 304 || (f->has_length && f->length == 0))
                a->state = CAY_ANSWER_DONE;
        else if (f->is_chunked)
                a->state = CAY_ANSWER_CHUNK_SIZE;
        else if (f->has_length)
                a->state = CAY_ANSWER_LENGTH;
        else
                a->state = CAY_ANSWER_TO_END;
        a->closes = a->closes || a->state == CAY_ANSWER_TO_END;
        return 0;
}

/* The whole head is in `line`, its blank line included. */
static int read_head(struct cay_answer *a)
{
        char *at = cay_buf_data(&a->line), *end = at + a->line.len;
        struct framing f = { 0 };
        bool first = true;

        a->type[0] = '\0';
        if (memchr(at, '\0', a->line.len) != NULL)
                return -EBADMSG;
        while (at < end) {
                char *stop = strstr(at, "\r\n");

                if (stop == NULL || memchr(at, '\n', (size_t)(stop - at)) != NULL)
                        return -EBADMSG;
                *stop = '\0';
                if (stop == at)
                        break;
                if ((first ? read_status(a, at) : read_field(a, &f, at)) < 0)
                        return -EBADMSG;
                first = false;
                at = stop + 2;
        }
        if (first)
                return -EBADMSG;
        if (a->status < 200) {
                cay_buf_clear(&a->line);
                return ++a->interims > INTERIMS_MAX ? -EBADMSG : 0;
        }
        return begin_body(a, &f);
}

/* Appends up to a newline; true when a line is whole. *ret_used: bytes taken, or -EBADMSG for a line that is too long. */
static bool take_line(struct cay_answer *a, const char *bytes, size_t len, ssize_t *ret_used)
{
        const char *newline = memchr(bytes, '\n', len);
        size_t n = newline != NULL ? (size_t)(newline - bytes) + 1 : len;

        *ret_used = cay_buf_put(&a->line, bytes, n) < 0 ? -EBADMSG : (ssize_t)n;
        return newline != NULL && *ret_used > 0;
}

static int hex_digit(char c)
{
        if (c >= '0' && c <= '9')
                return c - '0';
        c |= 0x20;
        return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "1a2b\r\n", an extension behind a semicolon is let be. */
static int read_chunk_size(struct cay_answer *a)
{
        const char *text = cay_buf_data(&a->line);
        unsigned i = 0;

        a->left = 0;
        for (; hex_digit(text[i]) >= 0; i++) {
                if (i == 15)
                        return -EBADMSG;
                a->left = a->left << 4 | (unsigned)hex_digit(text[i]);
        }
        if (i == 0 || (text[i] != '\r' && text[i] != ';') || a->line.len < 3 || text[a->line.len - 2] != '\r')
                return -EBADMSG;
        a->state = a->left > 0 ? CAY_ANSWER_CHUNK : CAY_ANSWER_TRAILER;
        return 0;
}

static int read_line(struct cay_answer *a)
{
        const char *text = cay_buf_data(&a->line);
        bool is_blank = a->line.len == 2 && text[0] == '\r';
        int r = 0;

        if (a->state == CAY_ANSWER_CHUNK_SIZE) {
                r = read_chunk_size(a);
        } else if (a->state == CAY_ANSWER_CHUNK_END) {
                if (!is_blank)
                        return -EBADMSG;
                a->state = CAY_ANSWER_CHUNK_SIZE;
        } else if (is_blank) {
                a->state = CAY_ANSWER_DONE;
        }
        cay_buf_clear(&a->line);
        return r;
}

static size_t take_body(struct cay_answer *a, size_t len)
{
        size_t n = a->state == CAY_ANSWER_TO_END || len < a->left ? len : (size_t)a->left;

        if (a->state == CAY_ANSWER_TO_END)
                return n;
        a->left -= n;
        if (a->left == 0)
                a->state = a->state == CAY_ANSWER_CHUNK ? CAY_ANSWER_CHUNK_END : CAY_ANSWER_DONE;
        return n;
}

/* A head ends with a blank line: "\r\n\r\n", which take_line leaves at the end of what it collected. */
static bool head_is_whole(const struct cay_answer *a)
{
        size_t len = a->line.len;

        return len >= 4 && memcmp(cay_buf_data(&a->line) + len - 4, "\r\n\r\n", 4) == 0;
}

ssize_t cay_answer_feed(struct cay_answer *a, const char *bytes, size_t len, const char **ret_body,
                        size_t *ret_body_len)
{
        size_t used = 0;
        int r = 0;

        *ret_body = bytes;
        *ret_body_len = 0;
        while (r == 0 && used < len && a->state != CAY_ANSWER_DONE) {
                ssize_t n;

                switch (a->state) {
                case CAY_ANSWER_LENGTH:
                case CAY_ANSWER_TO_END:
                case CAY_ANSWER_CHUNK:
                        *ret_body = bytes + used;
                        *ret_body_len = take_body(a, len - used);
                        return (ssize_t)(used + *ret_body_len);
                case CAY_ANSWER_HEAD:
                        if (take_line(a, bytes + used, len - used, &n) && head_is_whole(a))
                                r = read_head(a);
                        if (r == 0 && cay_answer_has_head(a))
                                return (ssize_t)used + n;
                        break;
                case CAY_ANSWER_FAILED:
                        return -EBADMSG;
                default:
                        if (take_line(a, bytes + used, len - used, &n))
                                r = read_line(a);
                }
                if (n < 0)
                        r = (int)n;
                else
                        used += (size_t)n;
        }
        if (r == 0)
                return (ssize_t)used;
        a->state = CAY_ANSWER_FAILED;
        return r;
}

int cay_answer_end(struct cay_answer *a)
{
        if (a->state == CAY_ANSWER_TO_END)
                a->state = CAY_ANSWER_DONE;
        if (a->state == CAY_ANSWER_DONE)
                return 0;
        a->state = CAY_ANSWER_FAILED;
        return -EBADMSG;
}
