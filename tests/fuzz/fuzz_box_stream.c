/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random operations on a sender and a receiver with a wire between them, against an oracle that knows every
 * byte of the stream by its offset. Operations are legal (what two honest ends do, cuts included) or not;
 * legal ones must succeed, the others must be refused and change nothing.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include "fuzz/must.h"
#include "links/box/frame.h"
#include "links/box/stream.h"

struct input {
        const uint8_t *at, *end;
};

static uint8_t next_u8(struct input *in)
{
        return in->at < in->end ? *in->at++ : 0;
}

static uint32_t next_u16(struct input *in)
{
        uint32_t low = next_u8(in);

        return low | (uint32_t)next_u8(in) << 8;
}

/* Anything: small, large, near what matters. */
static uint64_t next_offset(struct input *in, uint64_t near)
{
        uint8_t how = next_u8(in);
        uint64_t v = next_u16(in);

        switch (how % 5) {
        case 0:
                return v;
        case 1:
                return near + v;
        case 2:
                return near - v;
        case 3:
                return UINT64_MAX - v;
        default:
                return CAY_FRAME_OFFSET_MAX - v;
        }
}

static uint8_t pattern(uint64_t offset)
{
        return (uint8_t)(offset * 0x9e3779b97f4a7c15u >> 53);
}

struct wire {
        struct cay_sender s;
        struct cay_receiver r;
        uint64_t consumed;
        uint64_t seen; /* bytes that came out at the other end */
};

static void check(const struct wire *w)
{
        const struct cay_sender *s = &w->s;
        const struct cay_receiver *r = &w->r;

        must(s->acked <= s->sent && s->sent <= s->written && s->written - s->acked <= s->window);
        must(r->acked <= w->consumed && w->consumed <= r->got && r->got - r->acked <= r->window);
        must(s->acked <= r->acked && r->got <= s->written);
        must(w->seen == r->got);
        must(s->ring || s->acked == s->written);
}

static void fill(uint8_t *to, uint64_t offset, size_t len)
{
        for (size_t i = 0; i < len; i++)
                to[i] = pattern(offset + i);
}

static void write_some(struct wire *w, struct input *in)
{
        uint8_t how = next_u8(in);
        uint32_t len = next_u16(in);
        uint64_t before = w->s.written, room = w->s.window - (before - w->s.acked);
        struct iovec parts[2];

        if (w->s.eof)
                room = 0;
        if (how & 1) {
                static uint8_t bytes[65536];

                fill(bytes, before, len);
                must(cay_sender_put(&w->s, bytes, len) == (len < room ? len : room));
        } else {
                size_t total = 0, put = 0;
                int n = cay_sender_room(&w->s, parts);

                for (int i = 0; i < n; i++)
                        total += parts[i].iov_len;
                must(total == room && (n > 0) == (room > 0));
                for (int i = 0; i < n && put < len; i++) {
                        size_t part = len - put < parts[i].iov_len ? len - put : parts[i].iov_len;

                        fill(parts[i].iov_base, before + put, part);
                        put += part;
                }
                cay_sender_wrote(&w->s, put);
        }
}

static void send_some(struct wire *w, struct input *in)
{
        uint32_t max = next_u16(in);
        const uint8_t *piece;
        uint64_t offset;
        int64_t skip;
        size_t len = cay_sender_next(&w->s, max, &piece, &offset);

        must((len > 0) == (w->s.sent < w->s.written && max > 0) && len <= max);
        if (len == 0)
                return;
        must(offset == w->s.sent && offset + len <= w->s.written);
        for (size_t i = 0; i < len; i++)
                must(piece[i] == pattern(offset + i));
        if (offset <= w->r.got) { /* else: lost pieces before it; an honest wire would be cut */
                uint64_t got = w->r.got;

                skip = cay_receiver_data(&w->r, offset, (uint32_t)len);
                must(skip >= 0 && skip <= (int64_t)len);
                must((uint64_t)skip == (got - offset < len ? got - offset : len));
                w->seen += len - (size_t)skip;
                cay_sender_sent(&w->s, len);
        }
}

static void cut(struct wire *w, struct input *in)
{
        uint64_t offset = next_u8(in) & 1 ? w->r.got : next_offset(in, w->s.acked), sent = w->s.sent;
        bool fine = offset >= w->s.acked && offset <= w->s.written;

        must(cay_sender_resume(&w->s, offset) == (fine ? 0 : -ERANGE));
        must(w->s.sent == (fine ? offset : sent));
        if (offset > w->r.got && fine) /* no honest receiver claims that */
                cay_sender_resume(&w->s, w->r.got);
}

static void acknowledge(struct wire *w, struct input *in)
{
        uint64_t offset = next_offset(in, w->s.sent), acked = w->s.acked;

        if (next_u8(in) & 1)
                offset = w->r.acked;
        if (offset > w->s.sent) {
                must(cay_sender_ack(&w->s, offset) == -EPROTO && w->s.acked == acked);
        } else if (offset <= w->r.acked) {
                must(cay_sender_ack(&w->s, offset) == 0);
                must(w->s.acked == (offset > acked ? offset : acked));
        }
}

static void consume(struct wire *w, struct input *in)
{
        uint32_t n = next_u16(in);
        uint64_t left = w->r.got - w->consumed, acked = w->r.acked;

        w->consumed += n < left ? n : left;
        if (cay_receiver_consumed(&w->r, w->consumed))
                must(w->r.acked == w->consumed && w->r.acked > acked);
        else
                must(w->r.acked == acked);
}

/* What no honest sender says. */
static void attack(struct wire *w, struct input *in)
{
        uint64_t offset = next_offset(in, w->r.got);
        uint32_t len = 1 + next_u16(in);
        struct cay_receiver r = w->r; /* a copy: a lie that fits would be taken */
        uint64_t end = offset + len;
        bool fine = offset <= CAY_FRAME_OFFSET_MAX - len && offset <= r.got && end <= r.acked + r.window &&
                    !(r.eof && end > r.length);
        int64_t skip = cay_receiver_data(&r, offset, len);

        if (fine)
                must(skip >= 0 && r.got == (end > w->r.got ? end : w->r.got));
        else
                must(skip == -EPROTO && r.got == w->r.got && r.acked == w->r.acked && r.eof == w->r.eof);
        r = w->r;
        fine = r.eof ? offset == r.length : offset == r.got;
        must(cay_receiver_eof(&r, offset) == (fine ? 0 : -EPROTO));
}

static void finish(struct wire *w)
{
        w->s.eof = true;
        must(cay_sender_is_finished(&w->s) == (w->s.sent == w->s.written));
        if (cay_sender_is_finished(&w->s) && w->r.got == w->s.written)
                must(cay_receiver_eof(&w->r, w->s.written) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct input in = { .at = data, .end = data + size };
        uint32_t window = 1 + next_u16(&in);
        struct wire w = { 0 };

        cay_sender_init(&w.s, window);
        cay_receiver_init(&w.r, window);
        while (in.at < in.end) {
                switch (next_u8(&in) % 7) {
                case 0:
                        write_some(&w, &in);
                        break;
                case 1:
                        send_some(&w, &in);
                        break;
                case 2:
                        cut(&w, &in);
                        break;
                case 3:
                        acknowledge(&w, &in);
                        break;
                case 4:
                        consume(&w, &in);
                        break;
                case 5:
                        attack(&w, &in);
                        break;
                default:
                        if (next_u8(&in) % 8 == 0)
                                finish(&w);
                        break;
                }
                check(&w);
        }
        cay_sender_done(&w.s);
        return 0;
}
