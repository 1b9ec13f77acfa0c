/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One channel of the front's side.
 *
 * Theory of operation. On each stream a channel passes through the states unknown → introduced (OPEN or
 * RESUME sent) → answered (OPENED) → ended. Across streams it keeps what must be sent again: OPEN's payload
 * until the first OPENED, the received and consumed offsets of OUT and ERR, the IN ring, a kill, the
 * terminal's size.
 *
 * IN on a new stream: init may have received any part of what was sent on an older one. So IN waits for
 * OPENED, which has init's offset, and continues from there. If nothing was ever sent, IN follows OPEN
 * immediately.
 *
 * END is delivered when every stream that carried data is complete. Init sends DATA and EOF before END, so
 * normally this is immediate. If an init sends END early, the client waits for the missing data.
 */
#include "links/box/box_client.h"

#include <assert.h>
#include <errno.h>

#include "foundation/base/cleanup.h"
#include "links/box/box_client_priv.h"

enum { /* cay_box_channel.due; ACKs use the stream's number */
       DUE_ACK_OUT = 1 << CAY_STREAM_OUT,
       DUE_ACK_ERR = 1 << CAY_STREAM_ERR,
       DUE_RESIZE = 8,
       DUE_KILL = 16,
};

/* Which streams from init a kind has: bits by enum cay_stream. */
static unsigned streams_of(uint16_t kind)
{
        switch (kind) {
        case CAY_BOX_EXEC:
                return 1u << CAY_STREAM_OUT | 1u << CAY_STREAM_ERR;
        case CAY_BOX_READ:
        case CAY_BOX_LIST:
        case CAY_BOX_TAR_OUT:
        case CAY_BOX_CONNECT:
        case CAY_BOX_PROCESSES:
        case CAY_BOX_CHANGES:
        case CAY_BOX_WATCH:
        case CAY_BOX_SEARCH:
        case CAY_BOX_SOCKET:
        case CAY_BOX_ACCEPT:
        case CAY_BOX_COMPARE:
                return 1u << CAY_STREAM_OUT;
        default:
                return 0;
        }
}

static struct cay_peer *peer_of(struct cay_box_channel *ch)
{
        return &ch->client->peer;
}

static int send_control(struct cay_box_channel *ch, unsigned type, const void *payload, int len)
{
        assert(len >= 0); /* the ranges were checked when the channel was opened */
        return cay_peer_send(peer_of(ch), type, ch->number, 0, 0, payload, (size_t)len);
}

int cay_box_channel_introduce(struct cay_box_channel *ch)
{
        int r;

        if (ch->opened) {
                struct cay_box_resume m = { .out_got = ch->out[CAY_STREAM_OUT].got,
                                            .err_got = ch->out[CAY_STREAM_ERR].got };
                uint8_t payload[sizeof(m)];

                r = send_control(ch, CAY_FRAME_RESUME, payload,
                                 cay_box_resume_encode(&m, payload, sizeof(payload)));
        } else {
                r = send_control(ch, CAY_FRAME_OPEN, ch->open_payload, (int)ch->open_len);
        }
        if (r < 0)
                return r;
        ch->introduced = true;
        if (ch->in.sent == 0 && !ch->opened) {
                ch->in_flows = true;
                ch->in.eof_sent = false;
        }
        if (ch->out[CAY_STREAM_OUT].acked > 0)
                ch->due |= DUE_ACK_OUT;
        if (ch->out[CAY_STREAM_ERR].acked > 0)
                ch->due |= DUE_ACK_ERR;
        if (ch->sized)
                ch->due |= DUE_RESIZE;
        if (ch->kill_why != CAY_KILLED_NOT)
                ch->due |= DUE_KILL;
        return 0;
}

static int send_ack(struct cay_box_channel *ch, unsigned bit, enum cay_stream stream)
{
        int r;

        if (!(ch->due & bit))
                return 0;
        r = cay_peer_send(peer_of(ch), CAY_FRAME_ACK, ch->number, stream, ch->out[stream].acked, NULL, 0);
        if (r == 0)
                ch->due &= ~bit;
        return r;
}

static int send_resize(struct cay_box_channel *ch)
{
        struct cay_box_resize m = { .rows = ch->rows, .cols = ch->cols };
        uint8_t payload[sizeof(m)];
        int r;

        r = send_control(ch, CAY_FRAME_RESIZE, payload, cay_box_resize_encode(&m, payload, sizeof(payload)));
        if (r == 0)
                ch->due &= ~(unsigned)DUE_RESIZE;
        return r;
}

static int send_signals(struct cay_box_channel *ch)
{
        int r = 0;

        while (r == 0 && ch->signals != 0) {
                int signo = __builtin_ctzll(ch->signals) + 1;
                uint8_t payload[4];

                r = send_control(ch, CAY_FRAME_SIGNAL, payload,
                                 cay_box_signal_encode(signo, payload, sizeof(payload)));
                if (r == 0)
                        ch->signals &= ch->signals - 1;
        }
        return r;
}

static int send_kill(struct cay_box_channel *ch)
{
        uint8_t payload[4];
        int r;

        r = send_control(ch, CAY_FRAME_KILL, payload,
                         cay_box_kill_encode(ch->kill_why, payload, sizeof(payload)));
        if (r == 0)
                ch->due &= ~(unsigned)DUE_KILL;
        return r;
}

int cay_box_channel_settle(struct cay_box_channel *ch)
{
        int r = send_ack(ch, DUE_ACK_OUT, CAY_STREAM_OUT);

        if (r == 0)
                r = send_ack(ch, DUE_ACK_ERR, CAY_STREAM_ERR);
        if (r == 0 && (ch->due & DUE_RESIZE))
                r = send_resize(ch);
        if (r == 0 && ch->signals != 0)
                r = send_signals(ch);
        if (r == 0 && (ch->due & DUE_KILL))
                r = send_kill(ch);
        return r;
}

bool cay_box_channel_send_in(struct cay_box_channel *ch)
{
        const uint8_t *bytes;
        uint64_t offset;
        size_t len;

        if (!ch->in_flows)
                return false;
        len = cay_sender_next(&ch->in, CAY_FRAME_DATA_MAX, &bytes, &offset);
        if (len > 0) {
                if (cay_peer_send(peer_of(ch), CAY_FRAME_DATA, ch->number, CAY_STREAM_IN, offset, bytes,
                                  len) < 0)
                        return false;
                cay_sender_sent(&ch->in, len);
                return true;
        }
        if (!cay_sender_is_finished(&ch->in) || ch->in.eof_sent)
                return false;
        if (cay_peer_send(peer_of(ch), CAY_FRAME_EOF, ch->number, CAY_STREAM_IN, ch->in.written, NULL, 0) < 0)
                return false;
        ch->in.eof_sent = true;
        return true;
}

void cay_box_channel_cut(struct cay_box_channel *ch)
{
        ch->introduced = ch->answered = ch->in_flows = false;
        ch->due = 0;
}

void cay_box_channel_detach(struct cay_box_channel *ch)
{
        struct cay_box_channel **at = &ch->client->channels;

        while (*at != ch)
                at = &(*at)->next;
        *at = ch->next;
        ch->client->channel_count--;
        cay_box_channel_cut(ch);
        cay_sender_done(&ch->in);
        free(ch->open_payload);
        free(ch->end_payload);
        ch->open_payload = ch->end_payload = NULL;
        ch->next = NULL;
        ch->client = NULL;
}

/* From init */

static int on_opened(struct cay_box_channel *ch, const struct cay_frame *f, const uint8_t *payload)
{
        bool first = !ch->opened || ch->adopted;
        struct cay_box_opened m;

        if (ch->answered || cay_box_opened_decode(payload, f->len, &m) < 0)
                return -EPROTO;
        if (ch->adopted) {
                /* Only init knows how much of IN an earlier front sent. */
                ch->in.acked = ch->in.sent = ch->in.written = ch->in.emptied = m.in_got;
                ch->adopted = false;
        }
        if (m.in_got > ch->in.sent)
                return -EPROTO;
        if (!ch->in_flows && cay_sender_resume(&ch->in, m.in_got) < 0)
                return -EPROTO;
        ch->answered = ch->opened = ch->in_flows = true;
        free(ch->open_payload);
        ch->open_payload = NULL;
        cay_box_client_pump(ch->client);
        if (!first)
                return 0;
        if (ch->in_full && cay_sender_has_room(&ch->in)) { /* the owner waited for init's offset */
                struct cay_box_client *c = ch->client;
                bool gone = false;

                ch->in_full = false;
                c->gone = &gone;
                if (ch->on_room)
                        ch->on_room(ch);
                if (gone)
                        return 0;
                c->gone = NULL;
                ch = cay_box_client_find(c, f->channel);
        }
        if (ch && ch->on_opened)
                ch->on_opened(ch, m.pid);
        return 0;
}

static int on_data(struct cay_box_channel *ch, const struct cay_frame *f, const uint8_t *payload)
{
        int64_t skip;

        if (!(streams_of(ch->kind) >> f->stream & 1))
                return -EPROTO;
        skip = cay_receiver_data(&ch->out[f->stream], f->seq, f->len);
        if (skip < 0)
                return -EPROTO;
        if (skip == f->len)
                return 0;
        if (ch->on_data)
                ch->on_data(ch, f->stream, payload + skip, f->len - (size_t)skip);
        else
                cay_box_channel_ack(ch, f->stream, f->len - (size_t)skip);
        return 0;
}

static bool is_complete(const struct cay_box_channel *ch)
{
        for (int i = CAY_STREAM_OUT; i < CAY_STREAM_COUNT; i++) {
                if (ch->out[i].got > 0 && !ch->out[i].eof)
                        return false;
        }
        return true;
}

/*
 * Detach the channel first: for its owner it is closed now. CLOSE is sent to init only after the owner has
 * seen the end, because CLOSE makes init discard the result. An owner that is killed before it has recorded
 * the result must be able to read it again. CLOSE is still sent before anything that on_end sends, so init
 * never holds more channels than we do.
 */
static void deliver_end(struct cay_box_channel *ch, const struct cay_box_end *end)
{
        struct cay_box_client *c = ch->client;
        bool introduced = ch->introduced, gone = false;

        cay_box_channel_detach(ch);
        if (introduced)
                cay_box_client_queue_close(c, ch->number);
        if (ch->on_end) {
                c->gone = &gone;
                ch->on_end(ch, end);
                if (gone)
                        return;
                c->gone = NULL;
        }
        cay_box_client_send_closes(c);
}

static void deliver_kept_end(struct cay_box_channel *ch)
{
        cay_auto_free uint8_t *payload = cay_take(ch->end_payload);
        struct cay_box_end end;

        if (cay_box_end_decode(payload, ch->end_len, &end) == 0)
                deliver_end(ch, &end);
}

static int on_eof(struct cay_box_channel *ch, const struct cay_frame *f)
{
        struct cay_receiver *r = &ch->out[f->stream];
        struct cay_box_client *c = ch->client;
        bool first = !r->eof, gone = false;

        if (cay_receiver_eof(r, f->seq) < 0)
                return -EPROTO;
        if (!first)
                return 0;
        if (ch->on_eof) {
                c->gone = &gone;
                ch->on_eof(ch, f->stream);
                if (gone)
                        return 0;
                c->gone = NULL;
                ch = cay_box_client_find(c, f->channel);
        }
        if (ch && ch->end_payload && is_complete(ch))
                deliver_kept_end(ch);
        return 0;
}

static int on_ack(struct cay_box_channel *ch, const struct cay_frame *f)
{
        if (cay_sender_ack(&ch->in, f->seq) < 0)
                return -EPROTO;
        if (ch->in_full && cay_sender_has_room(&ch->in)) {
                ch->in_full = false;
                if (ch->on_room)
                        ch->on_room(ch);
        }
        return 0;
}

static int on_end(struct cay_box_channel *ch, const struct cay_frame *f, const uint8_t *payload)
{
        struct cay_box_end end;

        if (cay_box_end_decode(payload, f->len, &end) < 0 || end.kind != ch->kind)
                return -EPROTO;
        if (ch->end_payload)
                return 0;
        if (is_complete(ch)) {
                deliver_end(ch, &end);
                return 0;
        }
        ch->end_payload = malloc(f->len);
        if (!ch->end_payload)
                return -ENOMEM;
        memcpy(ch->end_payload, payload, f->len);
        ch->end_len = f->len;
        return 0;
}

int cay_box_channel_frame(struct cay_box_channel *ch, const struct cay_frame *f, const uint8_t *payload)
{
        if (f->type == CAY_FRAME_OPENED)
                return on_opened(ch, f, payload);
        if (f->type == CAY_FRAME_END)
                return on_end(ch, f, payload);
        if (!ch->answered)
                return -EPROTO;
        switch (f->type) {
        case CAY_FRAME_DATA:
                return on_data(ch, f, payload);
        case CAY_FRAME_EOF:
                return on_eof(ch, f);
        case CAY_FRAME_ACK:
                return on_ack(ch, f);
        default:
                return -EPROTO;
        }
}

/* From the owner */

static void enlist(struct cay_box_client *c, struct cay_box_channel *ch, uint32_t number, uint16_t kind,
                   uint32_t window)
{
        ch->client = c;
        ch->next = c->channels;
        c->channels = ch;
        c->channel_count++;
        ch->number = number;
        ch->kind = kind;
        ch->window = window;
        cay_sender_init(&ch->in, window);
        cay_sender_share(&ch->in, &c->in_pool, cay_box_pool_max(kind));
        for (int i = 0; i < CAY_STREAM_COUNT; i++) {
                cay_receiver_init(&ch->out[i], window);
                ch->consumed[i] = 0;
        }
        ch->open_payload = ch->end_payload = NULL;
        ch->opened = ch->introduced = ch->answered = ch->in_flows = ch->in_full = ch->sized = false;
        ch->adopted = false;
        ch->due = 0;
        ch->signals = 0;
        ch->kill_why = CAY_KILLED_NOT;
}

int cay_box_channel_adopt(struct cay_box_client *c, struct cay_box_channel *ch,
                          const struct cay_box_adoption *from)
{
        assert(!ch->client);
        if (from->number == 0 || from->number >= c->next_number || from->kind <= CAY_BOX_NONE ||
            from->kind >= CAY_BOX_KIND_COUNT || from->window < CAY_BOX_WINDOW_MIN ||
            from->window > CAY_BOX_WINDOW_MAX || from->out_got > CAY_FRAME_OFFSET_MAX ||
            from->err_got > CAY_FRAME_OFFSET_MAX)
                return -EINVAL;
        if (cay_box_client_find(c, from->number))
                return -EEXIST;
        if (c->channel_count >= CAY_BOX_CHANNELS_MAX)
                return -ENOSPC;
        enlist(c, ch, from->number, from->kind, from->window);
        ch->opened = ch->adopted = true;
        ch->out[CAY_STREAM_OUT].got = ch->out[CAY_STREAM_OUT].acked = from->out_got;
        ch->out[CAY_STREAM_ERR].got = ch->out[CAY_STREAM_ERR].acked = from->err_got;
        ch->consumed[CAY_STREAM_OUT] = from->out_got;
        ch->consumed[CAY_STREAM_ERR] = from->err_got;
        cay_box_client_pump(c);
        return 0;
}

int cay_box_channel_open(struct cay_box_client *c, struct cay_box_channel *ch,
                         const struct cay_box_open *open, const char *const *argv, const char *const *env)
{
        cay_auto_free uint8_t *payload = NULL;
        uint8_t small[4096];
        int len;

        assert(!ch->client);
        if (c->channel_count >= CAY_BOX_CHANNELS_MAX || c->next_number == UINT32_MAX)
                return -ENOSPC;
        len = cay_box_open_encode(open, argv, env, small, sizeof(small));
        if (len == -EMSGSIZE) {
                payload = malloc(CAY_FRAME_MAX);
                if (!payload)
                        return -ENOMEM;
                len = cay_box_open_encode(open, argv, env, payload, CAY_FRAME_MAX);
        } else if (len >= 0) {
                payload = malloc((size_t)len);
                if (!payload)
                        return -ENOMEM;
                memcpy(payload, small, (size_t)len);
        }
        if (len < 0)
                return len;

        enlist(c, ch, c->next_number++, open->kind, open->window);
        ch->open_payload = cay_take(payload);
        ch->open_len = (size_t)len;
        cay_box_client_pump(c);
        return 0;
}

bool cay_box_channel_is_open(const struct cay_box_channel *ch)
{
        return ch->client != NULL;
}

void cay_box_channel_ack(struct cay_box_channel *ch, enum cay_stream stream, size_t len)
{
        struct cay_receiver *r = &ch->out[stream];

        assert(stream == CAY_STREAM_OUT || stream == CAY_STREAM_ERR);
        if (!ch->client)
                return;
        assert(len <= r->got - ch->consumed[stream]);
        ch->consumed[stream] += len;
        if (!cay_receiver_consumed(r, ch->consumed[stream]) || !ch->introduced)
                return;
        ch->due |= 1u << stream;
        cay_box_channel_settle(ch);
}

size_t cay_box_channel_write(struct cay_box_channel *ch, const void *bytes, size_t len)
{
        size_t put;

        if (!ch->client)
                return 0;
        put = ch->adopted ? 0 : cay_sender_put(&ch->in, bytes, len);
        if (put < len)
                ch->in_full = true;
        cay_box_client_pump(ch->client);
        return put;
}

uint64_t cay_box_channel_in_written(const struct cay_box_channel *ch)
{
        return ch->in.written;
}

void cay_box_channel_write_eof(struct cay_box_channel *ch)
{
        if (!ch->client)
                return;
        ch->in.eof = true;
        cay_box_client_pump(ch->client);
}

int cay_box_channel_signal(struct cay_box_channel *ch, int signo)
{
        if (signo < 1 || signo > CAY_BOX_SIGNAL_MAX)
                return -EINVAL;
        if (!ch->client)
                return -ENOTCONN;
        ch->signals |= 1ull << (signo - 1);
        cay_box_client_pump(ch->client);
        return 0;
}

int cay_box_channel_kill(struct cay_box_channel *ch, enum cay_box_killed why)
{
        if (why <= CAY_KILLED_NOT || why >= CAY_KILLED_COUNT)
                return -EINVAL;
        if (!ch->client)
                return -ENOTCONN;
        if (ch->kill_why == CAY_KILLED_NOT)
                ch->kill_why = why;
        ch->due |= DUE_KILL;
        cay_box_client_pump(ch->client);
        return 0;
}

int cay_box_channel_resize(struct cay_box_channel *ch, unsigned rows, unsigned cols)
{
        if (rows > UINT16_MAX || cols > UINT16_MAX)
                return -EINVAL;
        if (!ch->client)
                return -ENOTCONN;
        ch->rows = (uint16_t)rows;
        ch->cols = (uint16_t)cols;
        ch->sized = true;
        ch->due |= DUE_RESIZE;
        cay_box_client_pump(ch->client);
        return 0;
}

void cay_box_channel_close(struct cay_box_channel *ch)
{
        struct cay_box_client *c = ch->client;
        bool introduced = ch->introduced;

        if (!c)
                return;
        cay_box_channel_detach(ch);
        if (introduced)
                cay_box_client_send_close(c, ch->number);
}

uint32_t cay_box_channel_number(const struct cay_box_channel *ch)
{
        return ch->number;
}
