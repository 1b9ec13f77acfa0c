/* SPDX-License-Identifier: Apache-2.0 */
/* WebSocket framing. The header is collected byte by byte, the payload goes in bulk. */
#include "foundation/http/ws_codec.h"

#include <assert.h>
#include <errno.h>

#include "foundation/base/utf8.h"

enum { KEEP_MAX = 16 * 1024 /* larger message buffers are given back between messages */ };

void cay_ws_codec_init(struct cay_ws_codec *c, enum cay_ws_role role, size_t message_max)
{
        *c = (struct cay_ws_codec){ .role = role };
        cay_buf_init(&c->message, message_max);
}

void cay_ws_codec_done(struct cay_ws_codec *c)
{
        cay_buf_done(&c->message);
}

void cay_ws_mask(uint8_t *to, const uint8_t *from, size_t len, const uint8_t mask[4], uint64_t at)
{
        uint8_t turned[8];
        uint64_t wide, word;
        size_t i = 0;

        for (unsigned k = 0; k < 8; k++)
                turned[k] = mask[(at + k) & 3];
        memcpy(&wide, turned, sizeof(wide));
        for (; len - i >= sizeof(word); i += sizeof(word)) {
                memcpy(&word, from + i, sizeof(word));
                word ^= wide;
                memcpy(to + i, &word, sizeof(word));
        }
        for (; i < len; i++)
                to[i] = from[i] ^ turned[i & 7];
}

size_t cay_ws_header(uint8_t ret[CAY_WS_HEADER_MAX], enum cay_ws_opcode opcode, bool is_last, uint64_t len,
                     const uint8_t mask[4])
{
        uint8_t masked = mask ? 0x80 : 0;
        unsigned bytes = len < 126 ? 0 : len < 65536 ? 2 : 8;
        size_t n = 2;

        ret[0] = (uint8_t)((is_last ? 0x80 : 0) | opcode);
        ret[1] = masked | (bytes == 0 ? (uint8_t)len : bytes == 2 ? 126 : 127);
        while (bytes > 0)
                ret[n++] = (uint8_t)(len >> 8 * --bytes);
        if (mask) {
                memcpy(ret + n, mask, 4);
                n += 4;
        }
        return n;
}

bool cay_ws_code_is_valid(unsigned code)
{
        if (code >= 3000 && code <= 4999)
                return true;
        return code >= 1000 && code <= 1014 && code != 1004 && code != CAY_WS_NO_CODE && code != CAY_WS_LOST;
}

static enum cay_ws_event fault(struct cay_ws_codec *c, unsigned code)
{
        c->fault = code;
        if (code != CAY_WS_TOO_BIG) /* its beginning may be asked for */
                cay_buf_done(&c->message);
        return CAY_WS_FAULT;
}

/* Headers */

static size_t header_wants(const struct cay_ws_codec *c)
{
        uint8_t len = c->header[1] & 0x7f;

        if (c->header_len < 2)
                return 2;
        return 2u + (len == 126 ? 2 : len == 127 ? 8 : 0) + (c->header[1] & 0x80 ? 4 : 0);
}

/* -1: the length is not in its shortest form, or beyond 63 bits. */
static int read_length(struct cay_ws_codec *c, size_t *ret_at)
{
        unsigned bytes = 0;
        uint64_t v = 0;

        c->left = c->header[1] & 0x7f;
        *ret_at = 2;
        if (c->left < 126)
                return 0;
        bytes = c->left == 126 ? 2 : 8;
        for (unsigned i = 0; i < bytes; i++)
                v = v << 8 | c->header[2 + i];
        c->left = v;
        *ret_at = 2 + bytes;
        if (bytes == 2)
                return v < 126 ? -1 : 0;
        return v < 65536 || v > INT64_MAX ? -1 : 0;
}

/* 0 or the close code that the frame is refused with. */
static unsigned judge_frame(const struct cay_ws_codec *c)
{
        switch ((unsigned)c->frame_opcode) {
        case CAY_WS_CONTINUATION:
                if (!c->in_message)
                        return CAY_WS_PROTOCOL_ERROR;
                break;
        case CAY_WS_TEXT:
        case CAY_WS_BINARY:
                if (c->in_message)
                        return CAY_WS_PROTOCOL_ERROR;
                break;
        case CAY_WS_CLOSE:
        case CAY_WS_PING:
        case CAY_WS_PONG:
                return c->is_last && c->left <= CAY_WS_CONTROL_MAX ? 0 : CAY_WS_PROTOCOL_ERROR;
        default:
                return CAY_WS_PROTOCOL_ERROR;
        }
        return c->left > cay_buf_left(&c->message) ? CAY_WS_TOO_BIG : 0;
}

static unsigned begin_frame(struct cay_ws_codec *c)
{
        bool is_masked = c->header[1] & 0x80;
        unsigned code;
        size_t at;

        c->is_last = c->header[0] & 0x80;
        c->frame_opcode = c->header[0] & 0x0f;
        /*
         * A server accepts only masked frames, a client only unmasked ones: otherwise a proxy in between
         * could be fooled.
         */
        if (c->header[0] & 0x70 || is_masked != (c->role == CAY_WS_SERVER) || read_length(c, &at) < 0)
                return CAY_WS_PROTOCOL_ERROR;
        code = judge_frame(c);
        if (is_masked)
                memcpy(c->mask, c->header + at, 4);
        if (code)
                return code;
        if (c->frame_opcode == CAY_WS_TEXT || c->frame_opcode == CAY_WS_BINARY) {
                c->in_message = true;
                c->message_opcode = c->frame_opcode;
        }
        c->in_frame = true;
        c->at = 0;
        c->control_len = 0;
        return 0;
}

/* Payloads */

static bool is_control(const struct cay_ws_codec *c)
{
        return c->frame_opcode >= CAY_WS_CLOSE;
}

static void unmask(const struct cay_ws_codec *c, uint8_t *to, const uint8_t *from, size_t len)
{
        if (c->role == CAY_WS_SERVER)
                cay_ws_mask(to, from, len, c->mask, c->at);
        else
                memcpy(to, from, len);
}

/* 0, or the close code that says why not. */
static unsigned take_payload(struct cay_ws_codec *c, const uint8_t *bytes, size_t len)
{
        if (len == 0)
                return 0;
        if (is_control(c)) {
                unmask(c, c->control + c->control_len, bytes, len);
                c->control_len += (uint8_t)len;
        } else {
                char *to = cay_buf_room(&c->message, len);

                if (!to)
                        return cay_buf_check(&c->message, len) == -ENOBUFS ? CAY_WS_TRY_LATER
                                                                           : CAY_WS_INTERNAL;
                unmask(c, (uint8_t *)to, bytes, len);
                cay_buf_added(&c->message, len);
        }
        c->at += len;
        c->left -= len;
        return 0;
}

static enum cay_ws_event end_message(struct cay_ws_codec *c, const uint8_t *data, size_t len)
{
        c->in_message = false;
        c->opcode = c->message_opcode;
        c->data = data;
        c->len = len;
        if (c->opcode == CAY_WS_TEXT && !cay_utf8_valid(data, len))
                return fault(c, CAY_WS_BAD_TEXT);
        return CAY_WS_MESSAGE;
}

static enum cay_ws_event end_control(struct cay_ws_codec *c)
{
        c->opcode = c->frame_opcode;
        c->data = c->control;
        c->len = c->control_len;
        if (c->opcode != CAY_WS_CLOSE)
                return CAY_WS_CONTROL;
        if (c->len == 1)
                return fault(c, CAY_WS_PROTOCOL_ERROR);
        c->close_code = CAY_WS_NO_CODE;
        if (c->len == 0)
                return CAY_WS_CONTROL;
        c->close_code = (unsigned)c->data[0] << 8 | c->data[1];
        if (!cay_ws_code_is_valid(c->close_code))
                return fault(c, CAY_WS_PROTOCOL_ERROR);
        if (!cay_utf8_valid(c->data + 2, c->len - 2))
                return fault(c, CAY_WS_BAD_TEXT);
        return CAY_WS_CONTROL;
}

/* The frame is whole. */
static enum cay_ws_event end_frame(struct cay_ws_codec *c)
{
        c->in_frame = false;
        c->header_len = 0;
        if (is_control(c))
                return end_control(c);
        if (!c->is_last)
                return CAY_WS_MORE;
        return end_message(c, (const uint8_t *)cay_buf_data(&c->message), c->message.len);
}

/* A message in a single, complete, unmasked frame is returned in place. */
static bool is_whole_here(const struct cay_ws_codec *c, size_t len)
{
        return c->role == CAY_WS_CLIENT && !is_control(c) && c->is_last && c->at == 0 &&
               c->message.len == 0 && c->left <= len;
}

static void forget_message(struct cay_ws_codec *c)
{
        if (c->in_message || c->in_frame)
                return;
        if (c->message.cap > KEEP_MAX)
                cay_buf_done(&c->message);
        else
                cay_buf_clear(&c->message);
}

enum cay_ws_event cay_ws_codec_read(struct cay_ws_codec *c, const void *bytes, size_t len, size_t *ret_used)
{
        const uint8_t *at = bytes, *end = at + len;
        enum cay_ws_event event = c->fault ? CAY_WS_FAULT : CAY_WS_MORE;

        forget_message(c); /* the last one, that the caller has seen */
        while (event == CAY_WS_MORE && (at < end || (c->in_frame && c->left == 0))) {
                size_t piece;
                unsigned code;

                if (!c->in_frame) {
                        c->header[c->header_len++] = *at++;
                        if (c->header_len < header_wants(c))
                                continue;
                        code = begin_frame(c);
                        if (code)
                                event = fault(c, code);
                        continue;
                }
                if (is_whole_here(c, (size_t)(end - at))) {
                        piece = (size_t)c->left;
                        c->in_frame = false;
                        c->header_len = 0;
                        event = end_message(c, at, piece);
                        at += piece;
                        continue;
                }
                piece = c->left < (uint64_t)(end - at) ? (size_t)c->left : (size_t)(end - at);
                code = take_payload(c, at, piece);
                if (code)
                        event = fault(c, code);
                at += piece;
                if (event == CAY_WS_MORE && c->left == 0)
                        event = end_frame(c);
        }
        *ret_used = (size_t)(at - (const uint8_t *)bytes);
        return event;
}

size_t cay_ws_codec_first(const struct cay_ws_codec *c, const void *bytes, size_t len, void *ret, size_t size)
{
        size_t n = c->message.len < size ? c->message.len : size, more;

        memcpy(ret, cay_buf_data(&c->message), n);
        more = len < size - n ? len : size - n;
        if (more > c->left)
                more = (size_t)c->left;
        if (c->role == CAY_WS_SERVER)
                cay_ws_mask((uint8_t *)ret + n, bytes, more, c->mask, 0);
        else
                memcpy((uint8_t *)ret + n, bytes, more);
        return n + more;
}
