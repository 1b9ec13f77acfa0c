/* SPDX-License-Identifier: Apache-2.0 */
/* What a kernel prints during one run. */
#include "domain/contexts/frames.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "foundation/base/json_view.h"

#define SIGN '\x1e'

void cay_frames_init(struct cay_frames *f, const struct cay_frames_events *events, const uint8_t random[16])
{
        memset(f, 0, sizeof(*f));
        f->events = events;
        for (unsigned i = 0; i < CAY_FRAME_MARK / 2; i++)
                snprintf(f->mark + 2 * (size_t)i, 3, "%02x", random[i]);
        cay_buf_init(&f->message, CAY_FRAME_MESSAGE_MAX);
}

void cay_frames_done(struct cay_frames *f)
{
        cay_buf_done(&f->message);
}

size_t cay_frames_request(const struct cay_frames *f, size_t code_len, size_t variables, char *ret,
                          size_t size)
{
        /* A kernel from before an upgrade knows three words. */
        if (variables == 0)
                return (size_t)snprintf(ret, size, "run %s %zu\n", f->mark, code_len);
        return (size_t)snprintf(ret, size, "run %s %zu %zu\n", f->mark, code_len, variables);
}

bool cay_frames_is_over(const struct cay_frames *f)
{
        return f->streams[0].ended && f->streams[1].ended;
}

static struct cay_frames_stream *stream_of(struct cay_frames *f, unsigned stream)
{
        return &f->streams[stream == 2 ? 1 : 0];
}

static void put_output(struct cay_frames *f, unsigned stream, const char *bytes, size_t len)
{
        const struct cay_frames_stream *s = stream_of(f, stream);

        if (len > 0 && s->began && !s->ended)
                f->events->on_output(f, stream, bytes, len);
}

static char kind_of(const struct cay_frames_stream *s)
{
        return s->head[1 + CAY_FRAME_MARK];
}

/* Whether the byte at this place of a head can be one of ours. */
static bool fits(const struct cay_frames *f, size_t at, char byte)
{
        if (at == 0)
                return byte == SIGN;
        if (at <= CAY_FRAME_MARK)
                return byte == f->mark[at - 1];
        if (at == CAY_FRAME_MARK + 1)
                return strchr("bredxBREDX", byte) != NULL && byte != '\0';
        return isdigit((unsigned char)byte) || (byte >= 'a' && byte <= 'f');
}

static size_t length_of(const struct cay_frames_stream *s)
{
        size_t len = 0;

        for (size_t i = CAY_FRAME_HEAD - 4; i < CAY_FRAME_HEAD; i++)
                len = 16 * len + (size_t)(s->head[i] <= '9' ? s->head[i] - '0' : s->head[i] - 'a' + 10);
        return len;
}

static void read_count(struct cay_frames *f)
{
        struct cay_json_view v;

        if (cay_json_view_open(cay_buf_data(&f->message), f->message.len, &v) == 0)
                cay_json_view_u64(cay_json_view_find(v, "execution_count"), &f->count);
}

/* All bytes of a frame are there. */
static void end_frame(struct cay_frames *f, struct cay_frames_stream *s, unsigned stream)
{
        char kind = kind_of(s);

        s->head_len = 0;
        if (islower((unsigned char)kind))
                return;
        if (kind == 'B') {
                s->began = true;
        } else if (kind == 'X' && stream == 2) {
                s->ended = s->began;
        } else if (stream == 1 && s->began && !s->ended && kind == 'D') {
                read_count(f);
                s->ended = true;
        } else if (stream == 1 && s->began && !s->ended && (kind == 'R' || kind == 'E')) {
                f->events->on_message(f, (char)tolower((unsigned char)kind), cay_buf_data(&f->message),
                                      f->was_cut ? 0 : f->message.len, f->was_cut);
        }
        if (stream == 1) {
                cay_buf_clear(&f->message);
                f->was_cut = false;
        }
}

static void take_payload(struct cay_frames *f, unsigned stream, const char *bytes, size_t len)
{
        if (stream == 1 && !f->was_cut && cay_buf_put(&f->message, bytes, len) < 0)
                f->was_cut = true;
}

/* One byte that may belong to a head; a head that turns out to be none is output. */
static void take_head(struct cay_frames *f, struct cay_frames_stream *s, unsigned stream, char byte)
{
        if (!fits(f, s->head_len, byte)) {
                put_output(f, stream, s->head, s->head_len);
                s->head_len = 0;
                if (byte != SIGN) {
                        put_output(f, stream, &byte, 1);
                        return;
                }
        }
        s->head[s->head_len++] = byte;
        if (s->head_len < CAY_FRAME_HEAD)
                return;
        s->left = length_of(s);
        if (s->left == 0)
                end_frame(f, s, stream);
}

void cay_frames_feed(struct cay_frames *f, unsigned stream, const char *bytes, size_t len)
{
        struct cay_frames_stream *s = stream_of(f, stream);

        while (len > 0 && !s->ended) {
                size_t n = 1;

                if (s->left > 0) {
                        n = len < s->left ? len : s->left;
                        take_payload(f, stream, bytes, n);
                        s->left -= n;
                        if (s->left == 0)
                                end_frame(f, s, stream);
                } else if (s->head_len > 0 || *bytes == SIGN) {
                        take_head(f, s, stream, *bytes);
                } else {
                        const char *sign = memchr(bytes, SIGN, len);

                        n = sign ? (size_t)(sign - bytes) : len;
                        put_output(f, stream, bytes, n);
                }
                bytes += n;
                len -= n;
        }
}
