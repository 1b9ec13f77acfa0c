/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The link to the front.
 *
 * Theory of operation. The first frame must be HELLO with the box's secret. A protocol violation ends the
 * stream, never the box: channels stay as they are until the engine gives another stream. A one-shot box
 * waits for that with a deadline, since its front has most likely exited; only the end of the control socket
 * ends the box immediately (init.c).
 */
#include "cay-init/link.h"

#include <errno.h>

#include "links/box/message.h"
#include "cay-init/channel.h"
#include "cay-init/exec.h"

#define RELINK_WAIT_MS 5000

static bool is_secret(const uint8_t *a, const uint8_t *b, size_t len)
{
        volatile uint8_t diff = 0;

        for (size_t i = 0; i < len; i++)
                diff |= a[i] ^ b[i];
        return diff == 0;
}

static int send_welcome(struct cay_init *init)
{
        static struct cay_box_welcome m;
        uint8_t payload[8 + 4 * CAY_BOX_CHANNELS_MAX];
        int len;

        m.version = CAY_BOX_VERSION;
        m.count = 0;
        for (struct cay_channel *ch = init->channels; ch; ch = ch->next) {
                if (!ch->closed && m.count < CAY_BOX_CHANNELS_MAX)
                        m.channels[m.count++] = ch->number;
        }
        len = cay_box_welcome_encode(&m, payload, sizeof(payload));
        return len < 0 ? len : cay_peer_send(&init->peer, CAY_FRAME_WELCOME, 0, 0, 0, payload, (size_t)len);
}

static int on_hello(struct cay_init *init, const struct cay_frame *f, const uint8_t *payload)
{
        struct cay_box_hello hello;
        bool known;
        int r;

        if (init->welcomed || cay_box_hello_decode(payload, f->len, &hello) < 0)
                return -EPROTO;
        known = is_secret(hello.secret, init->config.secret, sizeof(hello.secret));
        explicit_bzero(&hello.secret, sizeof(hello.secret));
        if (!known)
                return -EPROTO;
        r = send_welcome(init);
        if (r == 0 && hello.version != CAY_BOX_VERSION) {
                cay_peer_uncork(&init->peer); /* flush it before the stream ends */
                cay_peer_cork(&init->peer);
                r = -EPROTONOSUPPORT;
        }
        init->welcomed = r == 0;
        if (init->welcomed)
                cay_warm_welcome(init);
        return r;
}

static int on_ping(struct cay_peer *p, const struct cay_frame *f, const uint8_t *payload)
{
        struct cay_bytes_reader r;
        struct cay_bytes_writer w;
        uint8_t answer[8];
        uint64_t token;

        cay_reader_init(&r, payload, f->len);
        token = cay_get_u64(&r);
        cay_writer_init(&w, answer, sizeof(answer));
        cay_put_u64(&w, token == CAY_BOX_ASK_KINDS ? token | (CAY_BOX_KIND_COUNT - 1) : token);
        return cay_peer_send(p, CAY_FRAME_PONG, 0, 0, 0, answer, sizeof(answer));
}

static int on_open(struct cay_init *init, const struct cay_frame *f, const uint8_t *payload)
{
        const struct cay_box_resume from_start = { 0 };
        struct cay_channel *ch = cay_channel_find(init, f->channel);
        struct cay_box_open open;

        if (cay_box_open_decode(payload, f->len, &open) < 0)
                return -EPROTO;
        if (ch)
                return ch->attached ? -EPROTO : cay_channel_attach(ch, &from_start);
        cay_channel_open(init, f->channel, &open);
        return 0;
}

static int on_resume(struct cay_channel *ch, const struct cay_frame *f, const uint8_t *payload)
{
        struct cay_box_resume have;

        if (ch->attached || cay_box_resume_decode(payload, f->len, &have) < 0)
                return -EPROTO;
        return cay_channel_attach(ch, &have);
}

static int on_signal(struct cay_channel *ch, const struct cay_frame *f, const uint8_t *payload)
{
        int signo;

        if (ch->kind != CAY_BOX_EXEC || cay_box_signal_decode(payload, f->len, &signo) < 0)
                return -EPROTO;
        cay_exec_signal(ch, signo);
        return 0;
}

static int on_kill(struct cay_channel *ch, const struct cay_frame *f, const uint8_t *payload)
{
        enum cay_box_killed why;

        if (ch->kind != CAY_BOX_EXEC || cay_box_kill_decode(payload, f->len, &why) < 0)
                return -EPROTO;
        cay_exec_kill(ch, why);
        cay_channel_step(ch);
        return 0;
}

static int on_resize(struct cay_channel *ch, const struct cay_frame *f, const uint8_t *payload)
{
        struct cay_box_resize size;

        if (ch->kind != CAY_BOX_EXEC || cay_box_resize_decode(payload, f->len, &size) < 0)
                return -EPROTO;
        cay_exec_resize(ch, size.rows, size.cols);
        return 0;
}

/* Frames of a channel that the front has introduced on this stream. */
static int on_channel_frame(struct cay_channel *ch, const struct cay_frame *f, const uint8_t *payload)
{
        bool ended = ch->state == CAY_CHANNEL_ENDED;

        switch (f->type) {
        case CAY_FRAME_ACK:
                return cay_channel_on_ack(ch, f->stream, f->seq);
        case CAY_FRAME_DATA:
                return ended ? 0 : cay_channel_on_data(ch, f->seq, payload, f->len);
        case CAY_FRAME_EOF:
                return ended ? 0 : cay_channel_on_eof(ch, f->seq);
        case CAY_FRAME_SIGNAL:
                return ended ? 0 : on_signal(ch, f, payload);
        case CAY_FRAME_KILL:
                return ended ? 0 : on_kill(ch, f, payload);
        case CAY_FRAME_RESIZE:
                return ended ? 0 : on_resize(ch, f, payload);
        default:
                return -EPROTO;
        }
}

static int on_frame(struct cay_peer *p, const struct cay_frame *f, const uint8_t *payload)
{
        struct cay_init *init = cay_container_of(p, struct cay_init, peer);
        struct cay_channel *ch;

        if (f->type == CAY_FRAME_HELLO)
                return on_hello(init, f, payload);
        if (!init->welcomed)
                return -EPROTO;
        switch (f->type) {
        case CAY_FRAME_PING:
                return on_ping(p, f, payload);
        case CAY_FRAME_SYNC:
                cay_channel_forget_ended(init);
                return 0;
        case CAY_FRAME_OPEN:
                return on_open(init, f, payload);
        default:
                break;
        }
        ch = cay_channel_find(init, f->channel);
        if (f->type == CAY_FRAME_CLOSE) {
                if (ch)
                        cay_channel_close(ch);
                return 0;
        }
        if (!ch)
                return -EPROTO;
        if (f->type == CAY_FRAME_RESUME)
                return on_resume(ch, f, payload);
        return ch->attached ? on_channel_frame(ch, f, payload) : -EPROTO;
}

static void on_room(struct cay_peer *p)
{
        cay_channel_send_all(cay_container_of(p, struct cay_init, peer));
}

static void on_relink_time(struct cay_timer *t)
{
        struct cay_init *init = cay_container_of(t, struct cay_init, relink_timer);

        init->leaving = true;
}

static void drop(struct cay_init *init)
{
        cay_peer_close(&init->peer);
        cay_channel_cut_all(init);
        init->welcomed = false;
}

static void on_lost(struct cay_peer *p, int reason)
{
        struct cay_init *init = cay_container_of(p, struct cay_init, peer);

        drop(init);
        if (init->one_shot &&
            cay_timer_set(init->loop, &init->relink_timer, RELINK_WAIT_MS, on_relink_time) < 0)
                init->leaving = true;
}

void cay_link_init(struct cay_init *init)
{
        init->peer.on_frame = on_frame;
        init->peer.on_room = on_room;
        init->peer.on_lost = on_lost;
}

/*
 * A front that has exited may have sent data that is still unread. It counts, and is handled before the next
 * front's.
 */
int cay_link_take(struct cay_init *init, int fd)
{
        cay_peer_read_out(&init->peer);
        drop(init);
        cay_timer_clear(&init->relink_timer);
        return cay_peer_open_take(init->loop, &init->peer, fd, CAY_SIDE_FRONT);
}

bool cay_link_is_finished(const struct cay_init *init)
{
        if (!init->one_shot || !cay_peer_is_flushed(&init->peer))
                return false;
        for (const struct cay_channel *ch = init->channels; ch; ch = ch->next) {
                if (cay_channel_ends_box(ch) && ch->end_sent)
                        return true;
        }
        return false;
}
