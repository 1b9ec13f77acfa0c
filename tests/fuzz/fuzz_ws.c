/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WebSocket frames from strangers, both roles. What comes out must not depend on how the stream is cut, texts
 * are UTF-8, nothing is larger than the maximum; and every message that came out, sent again by us, comes out
 * at the other role the same. Then the whole session on a duplex that is short of room. Input: a byte of
 * choices, then the stream.
 */
#include <stdint.h>
#include <stdlib.h>

#include "fuzz/must.h"
#include "foundation/base/utf8.h"
#include "foundation/http/ws.h"
#include "unit/foundation/http/fake_duplex.h"

enum { MESSAGE_MAX = 3000 };

static uint64_t mix(uint64_t h, const void *bytes, size_t len)
{
        const uint8_t *at = bytes;

        for (size_t i = 0; i < len; i++)
                h = (h ^ at[i]) * 0x100000001b3u;
        return (h ^ len) * 0x100000001b3u;
}

static void send_again(const struct cay_ws_codec *from, enum cay_ws_role role)
{
        static const uint8_t key[4] = { 9, 8, 7, 6 };
        uint8_t wire[CAY_WS_HEADER_MAX + MESSAGE_MAX];
        bool masked = role == CAY_WS_SERVER;
        size_t n = cay_ws_header(wire, from->opcode, true, from->len, masked ? key : NULL), used;
        struct cay_ws_codec to;

        if (masked)
                cay_ws_mask(wire + n, from->data, from->len, key, 0);
        else if (from->len > 0)
                memcpy(wire + n, from->data, from->len);
        cay_ws_codec_init(&to, role, MESSAGE_MAX);
        must(cay_ws_codec_read(&to, wire, n + from->len, &used) == CAY_WS_MESSAGE);
        must(used == n + from->len && to.opcode == from->opcode && to.len == from->len);
        must(from->len == 0 || memcmp(to.data, from->data, from->len) == 0);
        cay_ws_codec_done(&to);
}

static uint64_t read_all(const uint8_t *data, size_t size, size_t piece, enum cay_ws_role role)
{
        struct cay_ws_codec c;
        size_t at = 0, have = 0;
        uint64_t h = 1;

        cay_ws_codec_init(&c, role, MESSAGE_MAX);
        while (at < size) {
                enum cay_ws_event event;
                size_t used;

                if (at == have)
                        have = size - have < piece ? size : have + piece;
                event = cay_ws_codec_read(&c, data + at, have - at, &used);
                must(used <= have - at);
                at += used;
                if (event == CAY_WS_MORE) {
                        must(at == have);
                        continue;
                }
                if (event == CAY_WS_FAULT) {
                        must(cay_ws_code_is_valid(c.fault));
                        h = mix(h, &c.fault, sizeof(c.fault));
                        break;
                }
                must(c.len <= (event == CAY_WS_MESSAGE ? MESSAGE_MAX : CAY_WS_CONTROL_MAX));
                must(event != CAY_WS_MESSAGE || c.opcode == CAY_WS_TEXT || c.opcode == CAY_WS_BINARY);
                must(c.opcode != CAY_WS_TEXT || cay_utf8_valid(c.data, c.len));
                h = mix(h, &c.opcode, sizeof(c.opcode));
                h = mix(h, c.data, c.len);
                if (event == CAY_WS_MESSAGE)
                        send_again(&c, role == CAY_WS_SERVER ? CAY_WS_CLIENT : CAY_WS_SERVER);
        }
        cay_ws_codec_done(&c);
        return h;
}

/* The session */

struct session {
        struct cay_ws ws;
        struct fake_duplex duplex;
        unsigned closed, turn;
        bool echoes;
};

static size_t on_message(struct cay_ws *ws, enum cay_ws_opcode kind, const void *bytes, size_t len)
{
        struct session *s = cay_container_of(ws, struct session, ws);

        must(!s->closed);
        if (s->echoes) {
                cay_ws_send(ws, kind, bytes, len);
                return len;
        }
        cay_ws_resume(ws);
        return s->turn++ % 2 ? len : len / 2;
}

static void on_closed(struct cay_ws *ws, unsigned code, const char *reason)
{
        struct session *s = cay_container_of(ws, struct session, ws);

        must(strlen(reason) <= CAY_WS_REASON_MAX);
        s->closed++;
}

static void run_session(const uint8_t *data, size_t size, uint8_t choices)
{
        static const struct cay_ws_ops ops = { .on_message = on_message, .on_closed = on_closed };
        static const struct cay_ws_options options = { .message_max = MESSAGE_MAX };
        struct cay_loop *loop = cay_loop_new();
        struct session s = { .echoes = choices & 2 };
        size_t piece = 1 + (choices >> 3) * 7;

        must(loop);
        fake_duplex_init(&s.duplex);
        cay_ws_open(&s.ws, &s.duplex.duplex, loop, choices & 1 ? CAY_WS_CLIENT : CAY_WS_SERVER, &options,
                    &ops);
        s.duplex.room = choices & 4 ? 10 : SIZE_MAX;
        while (size > 0 && !s.closed) {
                size_t n = size < piece ? size : piece;

                fake_duplex_say(&s.duplex, data, n);
                if (!s.closed)
                        fake_duplex_give_room(&s.duplex, choices & 4 ? 10 : SIZE_MAX);
                cay_loop_round(loop, 0);
                data += n;
                size -= n;
        }
        if (!s.closed)
                fake_duplex_give_room(&s.duplex, SIZE_MAX);
        for (unsigned i = 0; i < 5000 && !s.closed && s.duplex.owed > 0; i++)
                cay_loop_round(loop, 0);
        must(s.closed || s.duplex.owed == 0);
        if (!s.closed)
                s.duplex.duplex.user->ops->on_eof(s.duplex.duplex.user);
        for (unsigned i = 0; i < 5000 && !s.closed; i++)
                cay_loop_round(loop, 0);
        must(s.closed == 1 && s.duplex.closed);
        cay_buf_done(&s.duplex.wrote);
        cay_loop_free(loop);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        enum cay_ws_role role;
        uint64_t whole;

        if (size < 1 || size > 20000)
                return 0;
        role = data[0] & 1 ? CAY_WS_CLIENT : CAY_WS_SERVER;
        whole = read_all(data + 1, size - 1, size, role);
        must(whole == read_all(data + 1, size - 1, 1, role));
        must(whole == read_all(data + 1, size - 1, 1 + (data[0] >> 3), role));
        run_session(data + 1, size - 1, data[0]);
        return 0;
}
