/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front's side of the link: one client per box, any number of streams one after the other.
 *
 * Theory of operation. A stream begins with HELLO, then OPEN or RESUME for every channel, then SYNC. OPEN is
 * sent if init has not answered one yet, else RESUME with the received offsets. Nothing waits for WELCOME, so
 * opening costs no round trip. Everything that is to be sent is kept as state (`introduced`, `due`, the IN
 * ring), not as queued frames: cay_box_client_pump turns state into frames while the peer has room. After a
 * lost stream the same state is sent again.
 *
 * Input is hostile. The first frame must be WELCOME. A frame must name a channel that was introduced on this
 * stream, or one that was closed before (init may not know yet: ignored); offsets, kinds and order are
 * checked in box_channel.c. Any breach ends the stream with -EPROTO and touches no other state. No bytes of a
 * stream are kept here: they are passed to the owner from the peer's buffer. The window limits what the owner
 * has not acknowledged.
 *
 * Callbacks come last in every path, since the owner may close, drop, attach or free in any of them.
 *
 * A front that adopts a box of an earlier front does wait for WELCOME (`holds`). Only WELCOME lists the
 * existing channels and the numbers in use. A SYNC before it would make init discard results that nobody has
 * read.
 *
 * Rejected: waiting for WELCOME before OPEN (a round trip per run); a queue of unacknowledged frames (memory
 * would grow with the number of frames, and every frame type would need its own resend rule).
 */
#include "links/box/box_client.h"

#include <errno.h>

#include "foundation/base/cleanup.h"
#include "links/box/box_client_priv.h"

struct cay_box_channel *cay_box_client_find(struct cay_box_client *c, uint32_t number)
{
        for (struct cay_box_channel *ch = c->channels; ch; ch = ch->next) {
                if (ch->number == number)
                        return ch;
        }
        return NULL;
}

static int send_closes(struct cay_box_client *c)
{
        while (c->close_count > 0) {
                int r = cay_peer_send(&c->peer, CAY_FRAME_CLOSE, c->closes[c->close_count - 1], 0, 0, NULL,
                                      0);

                if (r < 0)
                        return r;
                c->close_count--;
        }
        return 0;
}

/* CLOSE goes before OPEN, so that init never holds more channels than we do. */
static int introduce_all(struct cay_box_client *c)
{
        int r = c->holds ? -EAGAIN : send_closes(c);

        for (struct cay_box_channel *ch = c->channels; ch && r == 0; ch = ch->next) {
                if (!ch->introduced)
                        r = cay_box_channel_introduce(ch);
                if (r == 0)
                        r = cay_box_channel_settle(ch);
        }
        if (r == 0 && !c->sync_sent) {
                r = cay_peer_send(&c->peer, CAY_FRAME_SYNC, 0, 0, 0, NULL, 0);
                c->sync_sent = r == 0;
        }
        return r;
}

void cay_box_client_pump(struct cay_box_client *c)
{
        bool more = true;

        if (!cay_peer_is_open(&c->peer) || introduce_all(c) < 0)
                return;
        /* Send one piece per channel and turn, so that a large upload does not starve a keyboard. */
        while (more && cay_peer_has_room(&c->peer)) {
                more = false;
                for (struct cay_box_channel *ch = c->channels; ch; ch = ch->next)
                        more |= cay_box_channel_send_in(ch);
        }
}

void cay_box_client_queue_close(struct cay_box_client *c, uint32_t number)
{
        /*
         * This is full only if init lists channels that it cannot have. Channels left out are listed again
         * next time.
         */
        if (c->close_count < CAY_COUNT(c->closes))
                c->closes[c->close_count++] = number;
}

void cay_box_client_send_closes(struct cay_box_client *c)
{
        if (cay_peer_is_open(&c->peer) && !c->holds)
                send_closes(c);
}

void cay_box_client_send_close(struct cay_box_client *c, uint32_t number)
{
        cay_box_client_queue_close(c, number);
        cay_box_client_send_closes(c);
}

void cay_box_client_await_welcome(struct cay_box_client *c)
{
        c->holds = true;
}

bool cay_box_client_awaits_welcome(const struct cay_box_client *c)
{
        return c->holds;
}

bool cay_box_client_has_channel(const struct cay_box_client *c, uint32_t number)
{
        for (const struct cay_box_channel *ch = c->channels; ch; ch = ch->next) {
                if (ch->number == number)
                        return true;
        }
        return false;
}

void cay_box_client_refuse(struct cay_box_client *c, uint32_t number)
{
        cay_box_client_send_close(c, number);
}

static int on_welcome(struct cay_box_client *c, const uint8_t *payload, uint32_t len)
{
        struct cay_box_welcome w;

        if (c->welcomed || cay_box_welcome_decode(payload, len, &w) < 0)
                return -EPROTO;
        if (w.version != CAY_BOX_VERSION)
                return -EPROTONOSUPPORT;
        c->welcomed = true;
        for (uint32_t i = 0; i < w.count; i++) {
                uint32_t n = w.channels[i];

                if (cay_box_client_find(c, n))
                        continue;
                if (n >= c->next_number && n < UINT32_MAX) {
                        /* A channel of an earlier front: its number is in use, the owner decides the rest. */
                        c->next_number = c->own_from = n + 1;
                } else if (n >= c->own_from) {
                        /* Closed while no stream was attached, or the CLOSE was lost with the stream. */
                        cay_box_client_send_close(c, n);
                }
        }
        if (c->events.on_welcome) {
                bool gone = false;

                c->gone = &gone;
                c->events.on_welcome(c, &w);
                if (gone)
                        return 0;
                c->gone = NULL;
        }
        if (c->holds) {
                c->holds = false;
                cay_box_client_pump(c);
        }
        return 0;
}

static int on_pong(struct cay_box_client *c, const uint8_t *payload, uint32_t len)
{
        struct cay_bytes_reader r;
        uint64_t token;

        if (c->pings == 0)
                return -EPROTO;
        c->pings--;
        cay_reader_init(&r, payload, len);
        token = cay_get_u64(&r);
        if (cay_box_is_about_kinds(token)) {
                c->kinds = (uint16_t)(token & 0xffff);
                if (c->kinds == 0) /* it repeats the question */
                        c->kinds = CAY_BOX_KINDS_UNTOLD;
                if (c->events.on_kinds)
                        c->events.on_kinds(c);
        } else if (c->events.on_pong) {
                c->events.on_pong(c, token);
        }
        return 0;
}

static int on_frame(struct cay_peer *p, const struct cay_frame *f, const uint8_t *payload)
{
        struct cay_box_client *c = cay_container_of(p, struct cay_box_client, peer);
        struct cay_box_channel *ch;

        if (f->type == CAY_FRAME_WELCOME)
                return on_welcome(c, payload, f->len);
        if (!c->welcomed)
                return -EPROTO;
        if (f->type == CAY_FRAME_PONG)
                return on_pong(c, payload, f->len);
        ch = cay_box_client_find(c, f->channel);
        if (!ch)
                return f->channel < c->next_number ? 0 : -EPROTO;
        return ch->introduced ? cay_box_channel_frame(ch, f, payload) : -EPROTO;
}

static void on_peer_room(struct cay_peer *p)
{
        cay_box_client_pump(cay_container_of(p, struct cay_box_client, peer));
}

void cay_box_client_drop(struct cay_box_client *c)
{
        cay_peer_close(&c->peer);
        for (struct cay_box_channel *ch = c->channels; ch; ch = ch->next)
                cay_box_channel_cut(ch);
        c->welcomed = c->sync_sent = false;
        c->pings = 0;
        c->close_count = 0; /* WELCOME of the next stream names them */
}

static void on_peer_lost(struct cay_peer *p, int reason)
{
        struct cay_box_client *c = cay_container_of(p, struct cay_box_client, peer);

        cay_box_client_drop(c);
        c->events.on_lost(c, reason);
}

struct cay_box_client *cay_box_client_new(struct cay_loop *loop, const uint8_t secret[CAY_BOX_SECRET],
                                          const struct cay_box_client_events *events, void *ctx)
{
        struct cay_box_client *c = calloc(1, sizeof(*c));

        if (!c)
                return NULL;
        c->loop = loop;
        c->events = *events;
        c->ctx = ctx;
        memcpy(c->secret, secret, sizeof(c->secret));
        c->next_number = c->own_from = 1;
        c->peer.on_frame = on_frame;
        c->peer.on_room = on_peer_room;
        c->peer.on_lost = on_peer_lost;
        return c;
}

void cay_box_client_free(struct cay_box_client *c)
{
        if (!c)
                return;
        if (c->gone)
                *c->gone = true;
        cay_peer_close(&c->peer);
        while (c->channels)
                cay_box_channel_detach(c->channels);
        explicit_bzero(c->secret, sizeof(c->secret));
        free(c);
}

void *cay_box_client_ctx(struct cay_box_client *c)
{
        return c->ctx;
}

bool cay_box_client_is_attached(const struct cay_box_client *c)
{
        return cay_peer_is_open(&c->peer);
}

bool cay_box_client_has_unread(const struct cay_box_client *c)
{
        return cay_peer_has_unread(&c->peer);
}

bool cay_box_client_is_flushed(const struct cay_box_client *c)
{
        for (const struct cay_box_channel *ch = c->channels; ch; ch = ch->next)
                if (ch->in.sent < ch->in.written || (ch->in.eof && !ch->in.eof_sent))
                        return false;
        return cay_peer_is_flushed(&c->peer);
}

int cay_box_client_attach_take(struct cay_box_client *c, int fd)
{
        struct cay_box_hello hello = { .version = CAY_BOX_VERSION };
        uint8_t payload[sizeof(hello)];
        int r;

        cay_box_client_drop(c);
        r = cay_peer_open_take(c->loop, &c->peer, fd, CAY_SIDE_INIT);
        if (r < 0)
                return r;
        memcpy(hello.secret, c->secret, sizeof(hello.secret));
        r = cay_box_hello_encode(&hello, payload, sizeof(payload));
        cay_peer_cork(&c->peer);
        cay_peer_send(&c->peer, CAY_FRAME_HELLO, 0, 0, 0, payload, (size_t)r);
        cay_box_client_pump(c);
        cay_peer_uncork(&c->peer); /* on_lost reports a dead stream later, from the loop */
        explicit_bzero(&hello, sizeof(hello));
        explicit_bzero(payload, sizeof(payload));
        return 0;
}

int cay_box_client_ping(struct cay_box_client *c, uint64_t token)
{
        struct cay_bytes_writer w;
        uint8_t payload[8];
        int r;

        if (!cay_peer_is_open(&c->peer))
                return -ENOTCONN;
        cay_writer_init(&w, payload, sizeof(payload));
        cay_put_u64(&w, token);
        r = cay_peer_send(&c->peer, CAY_FRAME_PING, 0, 0, 0, payload, sizeof(payload));
        if (r == 0)
                c->pings++;
        return r;
}

void cay_box_client_ask_kinds(struct cay_box_client *c)
{
        if (c->kinds == 0)
                cay_box_client_ping(c, CAY_BOX_ASK_KINDS);
}

uint16_t cay_box_client_kinds(const struct cay_box_client *c)
{
        return c->kinds;
}
