/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small init in this process, by the book (docs/box-link.md): it runs nothing, it makes up streams of a
 * known pattern and hashes what it gets. Built on frame, message, stream and peer alone.
 */
#pragma once

#include "unit/links/box/box_test.h"

#include <errno.h>

#include "foundation/base/cleanup.h"
#include "links/box/message.h"
#include "links/box/peer.h"
#include "links/box/stream.h"

#define FAKE_CHANNELS 8

struct fake_channel {
        uint32_t number; /* 0: free */
        uint16_t kind;
        unsigned opens;                  /* how often OPEN came: more than once only by resending */
        uint64_t left[CAY_STREAM_COUNT]; /* bytes still to be made up, OUT and ERR */
        struct cay_sender out[CAY_STREAM_COUNT];
        struct cay_receiver in;
        uint64_t in_hash, in_consumed;
        bool attached, end_sent, wants_in_eof, holds_end;
        bool blank; /* bytes as they are, at no cost */
        uint64_t signals;
        unsigned kills, kill_why, resizes, rows, cols;
        int exit_code;
};

struct fake_init {
        struct cay_loop *loop;
        struct cay_peer peer;
        uint8_t secret[CAY_BOX_SECRET];
        bool welcomed, synced;
        unsigned streams, lost, syncs, pings, closes, refused;
        struct fake_channel channels[FAKE_CHANNELS];
        uint64_t seed;    /* 0: takes IN at once; else in random portions */
        uint32_t version; /* to answer with */
        size_t piece_max; /* of DATA */
        void (*on_open)(struct fake_init *f, struct fake_channel *ch, const struct cay_box_open *open);
};

static inline struct fake_channel *fake_find(struct fake_init *f, uint32_t number)
{
        for (int i = 0; i < FAKE_CHANNELS; i++) {
                if (f->channels[i].number == number)
                        return &f->channels[i];
        }
        return NULL;
}

static inline void fake_forget(struct fake_channel *ch)
{
        for (int i = 0; i < CAY_STREAM_COUNT; i++)
                cay_sender_done(&ch->out[i]);
        *ch = (struct fake_channel){ 0 };
}

static inline void fake_make_up(struct fake_channel *ch, int stream)
{
        struct cay_sender *s = &ch->out[stream];
        struct iovec room[2];
        int n;

        while (ch->left[stream] > 0 && (n = cay_sender_room(s, room)) > 0) {
                for (int i = 0; i < n && ch->left[stream] > 0; i++) {
                        size_t len = room[i].iov_len < ch->left[stream] ? room[i].iov_len : ch->left[stream];

                        if (!ch->blank)
                                test_fill(ch->number * 3 + (uint32_t)stream, s->written, room[i].iov_base,
                                          len);
                        cay_sender_wrote(s, len);
                        ch->left[stream] -= len;
                }
        }
        if (ch->left[stream] == 0)
                s->eof = true;
}

static inline bool fake_send_end(struct fake_init *f, struct fake_channel *ch)
{
        struct cay_box_end end = { .kind = ch->kind };
        uint8_t payload[CAY_FRAME_END_MAX];
        int len;

        if (ch->kind == CAY_BOX_EXEC)
                end.exec = (struct cay_box_exec_end){ .exit_code = ch->exit_code,
                                                      .last_denied = -1,
                                                      .killed = ch->kill_why };
        len = cay_box_end_encode(&end, payload, sizeof(payload));
        assert_true(len > 0);
        return cay_peer_send(&f->peer, CAY_FRAME_END, ch->number, 0, 0, payload, (size_t)len) == 0;
}

static inline void fake_step(struct fake_init *f, struct fake_channel *ch)
{
        bool done = !ch->wants_in_eof || ch->in.eof || ch->kills > 0;

        if (!ch->attached)
                return;
        for (int i = CAY_STREAM_OUT; i < CAY_STREAM_COUNT; i++) {
                struct cay_sender *s = &ch->out[i];
                const uint8_t *piece;
                uint64_t offset;
                size_t len;

                fake_make_up(ch, i);
                while (cay_peer_has_room(&f->peer) &&
                       (len = cay_sender_next(s, f->piece_max, &piece, &offset)) > 0) {
                        if (cay_peer_send(&f->peer, CAY_FRAME_DATA, ch->number, (unsigned)i, offset, piece,
                                          len) < 0)
                                return;
                        cay_sender_sent(s, len);
                }
                if (cay_sender_is_finished(s) && !s->eof_sent)
                        s->eof_sent = cay_peer_send(&f->peer, CAY_FRAME_EOF, ch->number, (unsigned)i,
                                                    s->written, NULL, 0) == 0;
                done = done && s->eof_sent;
        }
        if (done && !ch->end_sent && !ch->holds_end)
                ch->end_sent = fake_send_end(f, ch);
}

static inline void fake_step_all(struct fake_init *f)
{
        for (int i = 0; i < FAKE_CHANNELS; i++) {
                if (f->channels[i].number)
                        fake_step(f, &f->channels[i]);
        }
}

static inline void fake_consume(struct fake_init *f, struct fake_channel *ch)
{
        uint64_t waiting = ch->in.got - ch->in_consumed;

        if (f->seed && waiting < ch->in.window / 2)
                ch->in_consumed += test_random(&f->seed, (uint32_t)waiting + 1);
        else
                ch->in_consumed = ch->in.got;
        if (cay_receiver_consumed(&ch->in, ch->in_consumed))
                cay_peer_send(&f->peer, CAY_FRAME_ACK, ch->number, CAY_STREAM_IN, ch->in.acked, NULL, 0);
}

static inline int fake_opened(struct fake_init *f, struct fake_channel *ch)
{
        struct cay_box_opened m = { .pid = 100 + ch->number, .in_got = ch->in.got };
        uint8_t payload[16];

        ch->attached = true;
        ch->end_sent = false;
        cay_box_opened_encode(&m, payload, sizeof(payload));
        cay_peer_send(&f->peer, CAY_FRAME_OPENED, ch->number, 0, 0, payload, sizeof(payload));
        if (ch->in.acked > 0)
                cay_peer_send(&f->peer, CAY_FRAME_ACK, ch->number, CAY_STREAM_IN, ch->in.acked, NULL, 0);
        return 0;
}

static inline int fake_resume(struct fake_init *f, struct fake_channel *ch, uint64_t out_got,
                              uint64_t err_got)
{
        if (ch->attached || cay_sender_resume(&ch->out[CAY_STREAM_OUT], out_got) < 0 ||
            cay_sender_resume(&ch->out[CAY_STREAM_ERR], err_got) < 0)
                return -EPROTO;
        return fake_opened(f, ch);
}

static inline int fake_on_open(struct fake_init *f, uint32_t number, const uint8_t *payload, uint32_t len)
{
        struct fake_channel *ch = fake_find(f, number);
        struct cay_box_open open;

        if (cay_box_open_decode(payload, len, &open) < 0)
                return -EPROTO;
        if (ch) {
                ch->opens++;
                return fake_resume(f, ch, 0, 0);
        }
        ch = fake_find(f, 0);
        if (!ch)
                return -EPROTO;
        *ch = (struct fake_channel){
                .number = number, .kind = open.kind, .opens = 1, .in_hash = TEST_HASH_START
        };
        for (int i = 0; i < CAY_STREAM_COUNT; i++)
                cay_sender_init(&ch->out[i], open.window);
        cay_receiver_init(&ch->in, open.window);
        f->on_open(f, ch, &open);
        return fake_opened(f, ch);
}

static inline int fake_on_hello(struct fake_init *f, const uint8_t *payload, uint32_t len)
{
        struct cay_box_welcome w = { .version = f->version };
        struct cay_box_hello hello;
        uint8_t out[1100];
        int n;

        if (f->welcomed || cay_box_hello_decode(payload, len, &hello) < 0)
                return -EPROTO;
        if (memcmp(hello.secret, f->secret, sizeof(f->secret)) != 0) {
                f->refused++;
                return -EACCES;
        }
        f->welcomed = true;
        for (int i = 0; i < FAKE_CHANNELS; i++) {
                if (f->channels[i].number)
                        w.channels[w.count++] = f->channels[i].number;
        }
        n = cay_box_welcome_encode(&w, out, sizeof(out));
        return cay_peer_send(&f->peer, CAY_FRAME_WELCOME, 0, 0, 0, out, (size_t)n);
}

static inline int fake_on_channel(struct fake_init *f, struct fake_channel *ch, const struct cay_frame *fr,
                                  const uint8_t *payload)
{
        struct cay_box_resume resume;
        struct cay_box_resize size;
        enum cay_box_killed why;
        int64_t skip;
        int signo, r = 0;

        switch (fr->type) {
        case CAY_FRAME_RESUME:
                if (cay_box_resume_decode(payload, fr->len, &resume) < 0)
                        return -EPROTO;
                r = fake_resume(f, ch, resume.out_got, resume.err_got);
                break;
        case CAY_FRAME_DATA:
                skip = cay_receiver_data(&ch->in, fr->seq, fr->len);
                if (skip < 0)
                        return -EPROTO;
                ch->in_hash = test_hash(ch->in_hash, payload + skip, fr->len - (size_t)skip);
                fake_consume(f, ch);
                break;
        case CAY_FRAME_EOF:
                r = cay_receiver_eof(&ch->in, fr->seq);
                break;
        case CAY_FRAME_ACK:
                r = cay_sender_ack(&ch->out[fr->stream], fr->seq);
                break;
        case CAY_FRAME_CLOSE:
                f->closes++;
                fake_forget(ch);
                return 0;
        case CAY_FRAME_SIGNAL:
                r = cay_box_signal_decode(payload, fr->len, &signo);
                if (r == 0)
                        ch->signals |= 1ull << (signo - 1);
                break;
        case CAY_FRAME_KILL:
                r = cay_box_kill_decode(payload, fr->len, &why);
                ch->kills++;
                ch->kill_why = why;
                ch->holds_end = false;
                ch->left[CAY_STREAM_OUT] = ch->left[CAY_STREAM_ERR] = 0;
                break;
        case CAY_FRAME_RESIZE:
                r = cay_box_resize_decode(payload, fr->len, &size);
                ch->resizes++;
                ch->rows = size.rows;
                ch->cols = size.cols;
                break;
        default:
                return -EPROTO;
        }
        if (r == 0)
                fake_step(f, ch);
        return r;
}

static inline void fake_on_sync(struct fake_init *f)
{
        f->synced = true;
        f->syncs++;
        for (int i = 0; i < FAKE_CHANNELS; i++) {
                struct fake_channel *ch = &f->channels[i];

                if (ch->number && !ch->attached && !ch->holds_end && ch->out[1].eof && ch->out[2].eof &&
                    (!ch->wants_in_eof || ch->in.eof))
                        fake_forget(ch);
        }
}

static inline int fake_on_frame(struct cay_peer *p, const struct cay_frame *fr, const uint8_t *payload)
{
        struct fake_init *f = cay_container_of(p, struct fake_init, peer);
        struct fake_channel *ch;
        int r = 0;

        if (fr->type == CAY_FRAME_HELLO)
                return fake_on_hello(f, payload, fr->len);
        if (!f->welcomed)
                return -EPROTO;
        switch (fr->type) {
        case CAY_FRAME_SYNC:
                fake_on_sync(f);
                break;
        case CAY_FRAME_PING:
                f->pings++;
                r = cay_peer_send(p, CAY_FRAME_PONG, 0, 0, 0, payload, 8);
                break;
        case CAY_FRAME_OPEN:
                r = fake_on_open(f, fr->channel, payload, fr->len);
                break;
        default:
                ch = fake_find(f, fr->channel);
                if (ch)
                        return fake_on_channel(f, ch, fr, payload);
                return fr->type == CAY_FRAME_CLOSE ? 0 : -EPROTO;
        }
        if (r == 0)
                fake_step_all(f);
        return r;
}

static inline void fake_on_room(struct cay_peer *p)
{
        fake_step_all(cay_container_of(p, struct fake_init, peer));
}

static inline void fake_cut(struct fake_init *f)
{
        cay_peer_close(&f->peer);
        f->welcomed = f->synced = false;
        for (int i = 0; i < FAKE_CHANNELS; i++)
                f->channels[i].attached = false;
}

static inline void fake_on_lost(struct cay_peer *p, int reason)
{
        struct fake_init *f = cay_container_of(p, struct fake_init, peer);

        if (reason == -EPROTO || reason == -ERANGE)
                fail_msg("the front was off the protocol: %d", reason);
        f->lost++;
        fake_cut(f);
}

static inline void fake_on_open_plain(struct fake_init *f, struct fake_channel *ch,
                                      const struct cay_box_open *open)
{
}

static inline void fake_init_start(struct fake_init *f, struct cay_loop *loop)
{
        *f = (struct fake_init){ .loop = loop,
                                 .version = CAY_BOX_VERSION,
                                 .piece_max = CAY_FRAME_DATA_MAX,
                                 .on_open = fake_on_open_plain };
        memset(f->secret, 0x5c, sizeof(f->secret));
        f->peer.on_frame = fake_on_frame;
        f->peer.on_room = fake_on_room;
        f->peer.on_lost = fake_on_lost;
}

static inline void fake_init_stream(struct fake_init *f, int fd)
{
        fake_cut(f);
        f->streams++;
        assert_int_equal(cay_peer_open_take(f->loop, &f->peer, fd, CAY_SIDE_FRONT), 0);
}

static inline void fake_init_stop(struct fake_init *f)
{
        fake_cut(f);
        for (int i = 0; i < FAKE_CHANNELS; i++)
                fake_forget(&f->channels[i]);
}
