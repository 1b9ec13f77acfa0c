/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is sent for a channel. Everything to be sent on a stream is state (opened_sent, ack_due, eof_sent,
 * end_sent), not queued frames. send_some() sends the next frames that there is room for, and a new stream
 * only resets the state.
 */
#include "cay-init/channel.h"

#include <errno.h>

#define EOF_WAIT_MS 10

int cay_channel_plain_end(uint16_t kind, enum cay_code code, int sys, uint8_t *payload, size_t size)
{
        struct cay_box_end end = { .kind = kind, .code = (uint8_t)code, .sys = sys };

        if (kind == CAY_BOX_EXEC)
                end.exec = (struct cay_box_exec_end){ .exit_code = -1, .last_denied = -1 };
        return cay_box_end_encode(&end, payload, size);
}

static bool send_opened(struct cay_channel *ch)
{
        struct cay_box_opened m = { .pid = ch->opened_pid, .in_got = ch->feed.receiver.got };
        uint8_t payload[sizeof(m)];
        int len = cay_box_opened_encode(&m, payload, sizeof(payload));

        if (cay_peer_send(&ch->init->peer, CAY_FRAME_OPENED, ch->number, 0, 0, payload, (size_t)len) < 0)
                return false;
        ch->opened_sent = true;
        ch->ack_due = ch->feed.receiver.acked > 0;
        return true;
}

static bool send_ack(struct cay_channel *ch)
{
        if (cay_peer_send(&ch->init->peer, CAY_FRAME_ACK, ch->number, CAY_STREAM_IN, ch->feed.receiver.acked,
                          NULL, 0) < 0)
                return false;
        ch->ack_due = false;
        return true;
}

static void on_eof_time(struct cay_timer *t)
{
        struct cay_channel *ch = cay_container_of(t, struct cay_channel, eof_timer);

        ch->eof_due = true;
        cay_channel_step(ch);
}

/*
 * A process that closes its output is usually about to end: then EOF and END are sent in one write and wake
 * the front once. If it lives on without output, its EOF is delayed by at most this.
 */
static bool may_say_eof(struct cay_channel *ch)
{
        if (ch->eof_due || ch->state == CAY_CHANNEL_ENDED)
                return true;
        if (!ch->eof_timer.loop &&
            cay_timer_set(ch->init->loop, &ch->eof_timer, EOF_WAIT_MS, on_eof_time) < 0)
                ch->eof_due = true;
        return ch->eof_due;
}

/* DATA or EOF of one stream. */
static bool send_stream(struct cay_channel *ch, struct cay_pump *p, unsigned stream)
{
        struct cay_peer *peer = &ch->init->peer;
        const uint8_t *bytes;
        uint64_t offset;
        size_t len;

        if (!p->used)
                return false;
        len = cay_sender_next(&p->sender, CAY_FRAME_DATA_MAX, &bytes, &offset);
        if (len > 0) {
                if (cay_peer_send(peer, CAY_FRAME_DATA, ch->number, stream, offset, bytes, len) < 0)
                        return false;
                cay_sender_sent(&p->sender, len);
                return true;
        }
        if (!cay_sender_is_finished(&p->sender) || p->sender.eof_sent || !may_say_eof(ch))
                return false;
        if (cay_peer_send(peer, CAY_FRAME_EOF, ch->number, stream, p->sender.written, NULL, 0) < 0)
                return false;
        p->sender.eof_sent = true;
        return true;
}

static bool send_end(struct cay_channel *ch)
{
        uint8_t plain[CAY_CHANNEL_PLAIN_END];
        const uint8_t *end = ch->end;
        size_t len = ch->end_len;

        if (ch->state != CAY_CHANNEL_ENDED || ch->end_sent)
                return false;
        for (int i = 0; ch->opened_sent && i < CAY_CHANNEL_OUTS; i++) {
                if (ch->pumps[i].used && !ch->pumps[i].sender.eof_sent)
                        return false;
        }
        if (!end) {
                end = plain;
                len = (size_t)cay_channel_plain_end(ch->kind, CAY_LIMIT, ENOMEM, plain, sizeof(plain));
        }
        if (cay_peer_send(&ch->init->peer, CAY_FRAME_END, ch->number, 0, 0, end, len) < 0)
                return false;
        ch->end_sent = true;
        return true;
}

/* Sends the next frame; false: nothing to send, or no room for it. */
static bool send_some(struct cay_channel *ch)
{
        bool any = false;

        if (!ch->attached || ch->closed || !cay_peer_is_open(&ch->init->peer))
                return false;
        if (ch->opened && !ch->opened_sent && !send_opened(ch))
                return false;
        if (ch->opened_sent) {
                any = ch->ack_due && send_ack(ch);
                any |= send_stream(ch, &ch->pumps[0], CAY_STREAM_OUT);
                any |= send_stream(ch, &ch->pumps[1], CAY_STREAM_ERR);
        }
        return send_end(ch) || any;
}

void cay_channel_send(struct cay_channel *ch)
{
        struct cay_peer *peer = &ch->init->peer;

        if (!ch->attached || ch->closed || !cay_peer_is_open(peer))
                return;
        cay_peer_cork(peer);
        while (send_some(ch) && cay_peer_has_room(peer))
                ;
        cay_peer_uncork(peer);
}

void cay_channel_send_all(struct cay_init *init)
{
        bool more = true;

        /* One piece per channel and turn, so that one with much output does not starve the others. */
        while (more && cay_peer_has_room(&init->peer)) {
                more = false;
                for (struct cay_channel *ch = init->channels; ch; ch = ch->next)
                        more |= send_some(ch);
        }
}
