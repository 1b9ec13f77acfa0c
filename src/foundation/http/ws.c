/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WebSockets on a duplex; the rules are in ws.h. Input is handled in place. Only input that arrives while the
 * owner is paused, or while too much output is queued, is kept in `pending`. It is acknowledged to the duplex
 * only after it was handled.
 */
#include "foundation/http/ws.h"

#include <assert.h>
#include <errno.h>
#include <sys/random.h>

#include "foundation/base/clock.h"
#include "foundation/base/utf8.h"

enum {
        PENDING_MAX = 2 * 1024 * 1024, /* more than any duplex has in its window */
        CLOSE_MS = 5000,               /* to wait for the other side's close frame */
        /* Per round of the loop; then others get their turn. */
        SLICE_MESSAGES = 16,
        SLICE_BYTES = 64 * 1024,
        SLICE_MS = 5,
};

static const char no_room[] = "no memory is left for a message of this size: try again in a moment";
static_assert(sizeof(no_room) <= CAY_WS_REASON_MAX + 1, "a reason is short");

bool cay_ws_is_open(const struct cay_ws *ws)
{
        return ws->duplex && !ws->close_sent;
}

static void forget(struct cay_ws *ws)
{
        cay_timer_clear(&ws->timer);
        cay_ws_codec_done(&ws->codec);
        cay_buf_done(&ws->out);
        cay_buf_done(&ws->pending);
        ws->duplex = NULL;
}

void cay_ws_abort(struct cay_ws *ws)
{
        struct cay_duplex *d = ws->duplex;

        if (!d)
                return;
        forget(ws);
        cay_duplex_close(d);
}

static void end(struct cay_ws *ws, unsigned code, const char *reason)
{
        char text[CAY_WS_REASON_MAX + 1];

        snprintf(text, sizeof(text), "%s", reason); /* it may point into memory that is freed now */
        cay_ws_abort(ws);
        ws->ops->on_closed(ws, code, text);
}

/* Sending */

static void flush(struct cay_ws *ws)
{
        size_t n;

        while (ws->duplex && ws->out.len > 0) {
                n = cay_duplex_write(ws->duplex, cay_buf_data(&ws->out), ws->out.len);
                if (n == 0)
                        break;
                cay_buf_drop(&ws->out, n);
        }
        if (ws->out.len == 0)
                cay_buf_done(&ws->out);
        if (ws->was_high && ws->out.len <= CAY_WS_LOW)
                cay_ws_resume(ws); /* the duplex accepted everything: no event will follow */
}

/* Header and payload into the queue, masked if we are the client. */
static int queue(struct cay_ws *ws, enum cay_ws_opcode opcode, const void *bytes, size_t len)
{
        bool masks = ws->codec.role == CAY_WS_CLIENT;
        uint8_t header[CAY_WS_HEADER_MAX], mask[4];
        size_t header_len;
        char *to;
        int r;

        if (masks && getrandom(mask, sizeof(mask), 0) != sizeof(mask))
                return -EIO;
        header_len = cay_ws_header(header, opcode, true, len, masks ? mask : NULL);
        r = cay_buf_check(&ws->out, header_len + len);
        if (r < 0)
                return r;
        to = cay_buf_room(&ws->out, header_len + len);
        if (!to)
                return -ENOMEM;
        memcpy(to, header, header_len);
        if (masks)
                cay_ws_mask((uint8_t *)to + header_len, bytes, len, mask, 0);
        else if (len > 0)
                memcpy(to + header_len, bytes, len);
        cay_buf_added(&ws->out, header_len + len);
        return 0;
}

ssize_t cay_ws_send(struct cay_ws *ws, enum cay_ws_opcode kind, const void *bytes, size_t len)
{
        int r;

        if (!cay_ws_is_open(ws))
                return -EPIPE;
        r = queue(ws, kind, bytes, len);
        if (r < 0)
                return r;
        /* Answers to a batch of input are sent together. */
        if (!ws->busy)
                flush(ws);
        if (ws->out.len >= CAY_WS_HIGH)
                ws->was_high = true;
        return (ssize_t)ws->out.len;
}

static void send_close(struct cay_ws *ws, unsigned code, const char *reason)
{
        uint8_t payload[2 + CAY_WS_REASON_MAX];
        size_t len = strnlen(reason, CAY_WS_REASON_MAX + 1);

        if (ws->close_sent)
                return;
        if (len > CAY_WS_REASON_MAX)
                len = cay_utf8_cut(reason, CAY_WS_REASON_MAX);
        payload[0] = (uint8_t)(code >> 8);
        payload[1] = (uint8_t)code;
        memcpy(payload + 2, reason, len);
        queue(ws, CAY_WS_CLOSE, payload, code == CAY_WS_NO_CODE ? 0 : 2 + len); /* no room: it ends anyway */
        flush(ws);
        ws->close_sent = true;
        ws->close_code = code;
}

static void on_close_time(struct cay_timer *t)
{
        struct cay_ws *ws = cay_container_of(t, struct cay_ws, timer);

        end(ws, ws->close_code, "");
}

void cay_ws_close(struct cay_ws *ws, unsigned code, const char *reason)
{
        if (!cay_ws_is_open(ws))
                return;
        assert(cay_ws_code_is_valid(code));
        send_close(ws, code, reason);
        /* Held messages are dropped, but a close frame after them still counts. */
        cay_timer_set(ws->loop, &ws->timer, CLOSE_MS, on_close_time);
        cay_ws_resume(ws);
}

/* Receiving */

/* The owner accepted only n bytes of the message: the rest is kept until it accepts more. */
static void hold(struct cay_ws *ws, size_t n)
{
        struct cay_ws_codec *c = &ws->codec;

        ws->held = true;
        c->data += n;
        c->len -= n;
        if (c->message.len > 0)
                return;
        /*
         * It is in the duplex's memory, which is freed. The codec's own buffer is unused: the message was not
         * fragmented.
         */
        if (cay_buf_put(&c->message, c->data, c->len) < 0) {
                end(ws, CAY_WS_LOST, "no memory");
                return;
        }
        c->data = (const uint8_t *)cay_buf_data(&c->message);
}

static void hand_message(struct cay_ws *ws)
{
        struct cay_ws_codec *c = &ws->codec;
        size_t n;

        ws->held = false;
        if (ws->close_sent)
                return; /* between our close frame and theirs: dropped */
        n = ws->ops->on_message(ws, c->opcode, c->data, c->len);
        if (ws->duplex && n < c->len)
                hold(ws, n);
}

static void hand_control(struct cay_ws *ws)
{
        struct cay_ws_codec *c = &ws->codec;
        char reason[CAY_WS_REASON_MAX + 1];
        size_t len = c->len > 2 ? c->len - 2 : 0;

        if (c->opcode == CAY_WS_PING && !ws->close_sent)
                queue(ws, CAY_WS_PONG, c->data, c->len);
        if (c->opcode != CAY_WS_CLOSE)
                return;
        memcpy(reason, c->data + 2, len);
        reason[len] = '\0';
        send_close(ws, c->close_code, "");
        end(ws, c->close_code, reason);
}

static void tell_fault(struct cay_ws *ws)
{
        bool is_full = ws->codec.fault == CAY_WS_TRY_LATER;

        send_close(ws, ws->codec.fault, is_full ? no_room : "");
        end(ws, ws->codec.fault, is_full ? no_room : "the other side broke the protocol");
}

static void tell_too_long(struct cay_ws *ws, const uint8_t *bytes, size_t len)
{
        char first[CAY_WS_FIRST_MAX];

        if (ws->codec.fault != CAY_WS_TOO_BIG || ws->ops->on_too_long == NULL || ws->close_sent)
                return;
        ws->ops->on_too_long(ws, first, cay_ws_codec_first(&ws->codec, bytes, len, first, sizeof(first)));
}

/* One event's worth of input. False: stop here. */
static bool handle(struct cay_ws *ws, const uint8_t *bytes, size_t len, size_t *ret_used)
{
        switch (cay_ws_codec_read(&ws->codec, bytes, len, ret_used)) {
        case CAY_WS_MORE:
                return false;
        case CAY_WS_MESSAGE:
                hand_message(ws);
                return true;
        case CAY_WS_CONTROL:
                hand_control(ws);
                return true;
        case CAY_WS_FAULT:
                tell_too_long(ws, bytes + *ret_used, len - *ret_used);
                if (ws->duplex) /* the owner may have ended it */
                        tell_fault(ws);
                return true;
        }
        return false;
}

static bool is_stuck(const struct cay_ws *ws)
{
        return ws->held || ws->out.len >= CAY_WS_HIGH;
}

/* Handles a slice of it; returns how many bytes were used. The WebSocket may be closed afterwards. */
static size_t handle_some(struct cay_ws *ws, const uint8_t *bytes, size_t len)
{
        uint64_t end_ms = cay_clock_ms() + SLICE_MS;
        unsigned messages = 0;
        size_t used = 0;
        bool goes_on = true;

        ws->busy = true;
        while (ws->duplex && goes_on && used < len && !is_stuck(ws)) {
                size_t n = 0;

                goes_on = handle(ws, bytes + used, len - used, &n);
                used += n;
                if (++messages >= SLICE_MESSAGES || used >= SLICE_BYTES || cay_clock_ms() >= end_ms)
                        break;
        }
        ws->busy = false;
        flush(ws);
        return used;
}

static void on_data(struct cay_duplex_user *u, const void *bytes, size_t len)
{
        struct cay_ws *ws = cay_container_of(u, struct cay_ws, user);
        size_t used = 0;
        int r;

        ws->heard = true;
        if (ws->pending.len == 0)
                used = handle_some(ws, bytes, len);
        if (!ws->duplex)
                return;
        if (used > 0)
                cay_duplex_consumed(ws->duplex, used);
        r = cay_buf_put(&ws->pending, (const char *)bytes + used, len - used);
        if (r == -ENOBUFS) {
                send_close(ws, CAY_WS_TRY_LATER, no_room);
                end(ws, CAY_WS_TRY_LATER, no_room);
        } else if (r < 0)
                end(ws, CAY_WS_LOST, "too much input");
        else if (ws->pending.len > 0 && !is_stuck(ws))
                cay_ws_resume(ws); /* in the next round */
}

/* Held input, in order: the rest of a message, then the input after it, then the end. */
static void catch_up(struct cay_ws *ws)
{
        size_t used;

        if (ws->held)
                hand_message(ws);
        if (!ws->duplex || is_stuck(ws))
                return;
        used = handle_some(ws, (const uint8_t *)cay_buf_data(&ws->pending), ws->pending.len);
        if (!ws->duplex)
                return;
        cay_buf_drop(&ws->pending, used);
        if (ws->pending.len == 0)
                cay_buf_done(&ws->pending);
        if (used > 0)
                cay_duplex_consumed(ws->duplex, used);
        if (is_stuck(ws))
                return;
        if (ws->pending.len > 0)
                cay_ws_resume(ws);
        else if (ws->eof)
                end(ws, CAY_WS_LOST, "");
}

static void tell_drain(struct cay_ws *ws)
{
        if (!ws->was_high || ws->out.len > CAY_WS_LOW)
                return;
        ws->was_high = false;
        if (ws->ops->on_drain && !ws->close_sent)
                ws->ops->on_drain(ws);
}

static void on_kick(struct cay_deferred *d)
{
        struct cay_ws *ws = cay_container_of(d, struct cay_ws, kick);

        ws->kicked = false;
        if (ws->duplex)
                tell_drain(ws);
        if (ws->duplex)
                catch_up(ws);
}

void cay_ws_resume(struct cay_ws *ws)
{
        if (ws->kicked || !ws->duplex)
                return;
        ws->kicked = true;
        ws->kick.run = on_kick;
        cay_loop_defer(ws->loop, &ws->kick);
}

void cay_ws_ask_drain(struct cay_ws *ws)
{
        ws->was_high = true;
        if (ws->out.len <= CAY_WS_LOW)
                cay_ws_resume(ws);
}

static void on_room(struct cay_duplex_user *u)
{
        struct cay_ws *ws = cay_container_of(u, struct cay_ws, user);

        flush(ws);
        tell_drain(ws);
        /* Input that waited until the answers before it were sent. */
        if (ws->duplex && !ws->held && (ws->pending.len > 0 || ws->eof))
                cay_ws_resume(ws);
}

static void on_eof(struct cay_duplex_user *u)
{
        struct cay_ws *ws = cay_container_of(u, struct cay_ws, user);

        ws->eof = true;
        if (ws->pending.len == 0 && !is_stuck(ws))
                end(ws, CAY_WS_LOST, "");
}

static void on_lost(struct cay_duplex_user *u, int why)
{
        struct cay_ws *ws = cay_container_of(u, struct cay_ws, user);

        forget(ws); /* the duplex has already ended */
        ws->ops->on_closed(ws, ws->close_sent ? ws->close_code : CAY_WS_LOST, "");
}

static const struct cay_duplex_user_ops user_ops = {
        .on_data = on_data,
        .on_room = on_room,
        .on_eof = on_eof,
        .on_lost = on_lost,
};

/* A peer that is not read cannot answer pings, but writing to a closed one fails. */
static void on_ping_time(struct cay_timer *t)
{
        struct cay_ws *ws = cay_container_of(t, struct cay_ws, timer);

        if (ws->ping_sent && !ws->heard && !is_stuck(ws)) {
                end(ws, CAY_WS_LOST, "the other side is silent");
                return;
        }
        ws->heard = false;
        ws->ping_sent = true;
        cay_timer_set(ws->loop, t, ws->ping_ms, on_ping_time);
        if (ws->out.len == 0) {
                queue(ws, CAY_WS_PING, "", 0);
                flush(ws);
        }
}

void cay_ws_open(struct cay_ws *ws, struct cay_duplex *duplex, struct cay_loop *loop, enum cay_ws_role role,
                 const struct cay_ws_options *options, const struct cay_ws_ops *ops)
{
        *ws = (struct cay_ws){ .ops = ops,
                               .user = { .ops = &user_ops },
                               .duplex = duplex,
                               .loop = loop,
                               .ping_ms = options->ping_ms };
        cay_ws_codec_init(&ws->codec, role, options->message_max);
        cay_buf_init(&ws->out, options->out_max ? options->out_max : CAY_WS_OUT_MAX);
        cay_buf_init(&ws->pending, PENDING_MAX);
        cay_buf_charge(&ws->codec.message, duplex->budget);
        cay_buf_charge(&ws->out, duplex->out_budget);
        cay_buf_charge(&ws->pending, duplex->budget);
        duplex->user = &ws->user;
        if (ws->ping_ms > 0)
                cay_timer_set(loop, &ws->timer, ws->ping_ms, on_ping_time);
}
