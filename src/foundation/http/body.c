/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Body framing. The chunk reader is a state machine over the few bytes between chunks; chunks themselves are
 * skipped over.
 */
#include "foundation/http/body.h"

#include <assert.h>
#include <errno.h>

#include "foundation/http/chars.h"

enum state {
        SIZE,    /* digits of a chunk's size, at least one seen or not */
        SIZE_LF, /* behind the CR of that line */
        DATA,    /* inside a chunk: `left` bytes */
        DATA_CR, /* behind a chunk */
        DATA_LF,
        LINE, /* first byte of a trailer line, or of the empty one */
        NAME,
        VALUE,
        VALUE_LF,
        LAST_LF,
};

enum { TRAILERS_MAX = 8 * 1024 };

int cay_http_body_begin(struct cay_http_body *b, enum cay_http_framing framing, uint64_t length, uint64_t max)
{
        *b = (struct cay_http_body){ .framing = framing, .max = max, .state = SIZE };
        if (framing == CAY_HTTP_LENGTH) {
                b->left = length;
                b->done = length == 0;
                return length > max ? -EFBIG : 0;
        }
        b->done = framing == CAY_HTTP_NO_BODY;
        return 0;
}

static int end_size(struct cay_http_body *b)
{
        if (b->left == 0) {
                b->state = LINE;
                return 0;
        }
        if (b->left > b->max - b->total)
                return -EFBIG;
        b->state = DATA;
        return 0;
}

static int size_byte(struct cay_http_body *b, char c)
{
        int digit = cay_http_hex_digit(c);

        if (c == '\r' && b->digits > 0) {
                b->state = SIZE_LF;
                return 0;
        }
        if (digit < 0 || b->digits == 16 || b->left > INT64_MAX >> 4)
                return -EPROTO;
        b->left = b->left << 4 | (uint64_t)digit;
        b->digits++;
        return 0;
}

/* RFC 9110, 6.5.1: fields about framing and routing must be in the head, not in trailers. */
static bool is_forbidden_trailer(const struct cay_http_body *b)
{
        static const char *const names[] = { "content-length", "transfer-encoding", "host",
                                             "connection",     "trailer",           "te",
                                             "upgrade",        "keep-alive" };

        for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
                if (cay_http_same_name(b->name, b->name_len, names[i]))
                        return true;
        }
        return false;
}

static int trailer_name_byte(struct cay_http_body *b, char c)
{
        if (c == ':') {
                b->state = VALUE;
                return is_forbidden_trailer(b) ? -EPROTO : 0;
        }
        if (!cay_http_is_token_char(c))
                return -EPROTO;
        if (b->name_len < sizeof(b->name))
                b->name[b->name_len++] = c; /* longer than any of those in the list once it is full */
        return 0;
}

static int trailer_byte(struct cay_http_body *b, char c)
{
        if (++b->trailer_bytes > TRAILERS_MAX)
                return -EPROTO;
        switch (b->state) {
        case LINE:
                if (c == '\r') {
                        b->state = LAST_LF;
                        return 0;
                }
                b->state = NAME;
                b->name_len = 0;
                return c == ':' ? -EPROTO : trailer_name_byte(b, c);
        case NAME:
                return trailer_name_byte(b, c);
        default:
                if (c == '\r')
                        b->state = VALUE_LF;
                else if (!cay_http_is_value(&c, 1))
                        return -EPROTO;
                return 0;
        }
}

static int framing_byte(struct cay_http_body *b, char c)
{
        switch ((enum state)b->state) {
        case SIZE:
                return size_byte(b, c);
        case SIZE_LF:
                return c == '\n' ? end_size(b) : -EPROTO;
        case DATA_CR:
                b->state = DATA_LF;
                return c == '\r' ? 0 : -EPROTO;
        case DATA_LF:
                b->state = SIZE;
                b->digits = 0;
                return c == '\n' ? 0 : -EPROTO;
        case VALUE_LF:
                b->state = LINE;
                return c == '\n' ? 0 : -EPROTO;
        case LAST_LF:
                b->done = true;
                return c == '\n' ? 0 : -EPROTO;
        default:
                return trailer_byte(b, c);
        }
}

static size_t least(uint64_t a, size_t b)
{
        return a < b ? (size_t)a : b;
}

static int look_chunked(struct cay_http_body *b, const char *bytes, size_t len, size_t *ret_framing,
                        size_t *ret_body)
{
        size_t at = 0;

        while (at < len && b->state != DATA && !b->done) {
                int r = framing_byte(b, bytes[at++]);

                if (r < 0)
                        return r;
        }
        *ret_framing = at;
        *ret_body = b->state == DATA ? least(b->left, len - at) : 0;
        return 0;
}

int cay_http_body_look(struct cay_http_body *b, const char *bytes, size_t len, size_t *ret_framing,
                       size_t *ret_body)
{
        *ret_framing = *ret_body = 0;
        if (b->done)
                return 0;
        if (b->framing == CAY_HTTP_CHUNKED)
                return look_chunked(b, bytes, len, ret_framing, ret_body);
        if (b->framing == CAY_HTTP_LENGTH) {
                *ret_body = least(b->left, len);
                return 0;
        }
        *ret_body = len;
        return len > b->max - b->total ? -EFBIG : 0;
}

void cay_http_body_took(struct cay_http_body *b, size_t len)
{
        b->total += len;
        if (b->framing == CAY_HTTP_UNTIL_CLOSE)
                return;
        assert(len <= b->left);
        b->left -= len;
        if (b->left > 0 || len == 0)
                return;
        if (b->framing == CAY_HTTP_CHUNKED)
                b->state = DATA_CR;
        else
                b->done = true;
}

int cay_http_body_eof(struct cay_http_body *b)
{
        if (b->framing == CAY_HTTP_UNTIL_CLOSE)
                b->done = true;
        return b->done ? 0 : -EPROTO;
}
