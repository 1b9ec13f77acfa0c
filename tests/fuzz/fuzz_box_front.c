/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile init against the front's client. The input is a script: raw bytes for the stream, frames that are
 * nearly or fully right (so that the deep states are reached), and what the owner does meanwhile:
 * acknowledge, write, kill, close, open, reattach, also from inside callbacks. The oracle: every byte that is
 * handed to an owner is the right one for its offset, no more than a window is unacknowledged, one END per
 * channel, nothing after it, and nothing is leaked.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fuzz/must.h"
#include "foundation/base/cleanup.h"
#include "foundation/base/error.h"
#include "links/box/box_client.h"

enum { CHANNELS = 4, WINDOW = 4096, STREAMS_MAX = 32 };

struct user {
        struct cay_box_channel ch;
        uint64_t got[CAY_STREAM_COUNT], owed[CAY_STREAM_COUNT];
        bool eof[CAY_STREAM_COUNT], ended, opened;
        uint16_t kind;
        uint8_t then; /* what to do in the next callback */
};

struct play {
        const uint8_t *at, *end;
        struct cay_loop *loop;
        struct cay_box_client *client;
        struct user users[CHANNELS];
        int fd;   /* init's end, -1: none */
        bool raw; /* raw bytes were said on this stream: contents are anybody's guess */
        unsigned streams;
};

static struct play *play;

static uint8_t next_u8(void)
{
        return play->at < play->end ? *play->at++ : 0;
}

static uint32_t next_u16(void)
{
        uint32_t low = next_u8();

        return low | (uint32_t)next_u8() << 8;
}

static uint8_t pattern(unsigned stream, uint64_t offset)
{
        return (uint8_t)((offset + stream * 7) * 0x9e3779b97f4a7c15u >> 53);
}

static void act(struct user *u)
{
        switch (u->then) {
        case 1:
                cay_box_channel_close(&u->ch);
                break;
        case 2:
                cay_box_client_free(play->client);
                play->client = NULL;
                break;
        case 3:
                cay_box_client_drop(play->client);
                break;
        case 4:
                cay_box_channel_kill(&u->ch, CAY_KILLED_ASKED);
                break;
        case 5:
                cay_box_channel_write(&u->ch, "input", 5);
                break;
        default:
                break;
        }
        u->then = 0;
}

static void on_data(struct cay_box_channel *ch, enum cay_stream stream, const void *bytes, size_t len)
{
        struct user *u = cay_container_of(ch, struct user, ch);
        const uint8_t *at = bytes;

        must(!u->ended && !u->eof[stream] && u->opened && len > 0);
        must(stream == CAY_STREAM_OUT || (stream == CAY_STREAM_ERR && u->kind == CAY_BOX_EXEC));
        for (size_t i = 0; i < len; i++)
                must(play->raw || at[i] == pattern(stream, u->got[stream] + i));
        u->got[stream] += len;
        u->owed[stream] += len;
        must(u->owed[stream] <= WINDOW);
        act(u);
}

static void on_opened(struct cay_box_channel *ch, uint32_t pid)
{
        struct user *u = cay_container_of(ch, struct user, ch);

        must(!u->opened && !u->ended);
        u->opened = true;
        act(u);
}

static void on_eof(struct cay_box_channel *ch, enum cay_stream stream)
{
        struct user *u = cay_container_of(ch, struct user, ch);

        must(!u->eof[stream] && !u->ended);
        u->eof[stream] = true;
        act(u);
}

static void on_room(struct cay_box_channel *ch)
{
        act(cay_container_of(ch, struct user, ch));
}

static void on_end(struct cay_box_channel *ch, const struct cay_box_end *end)
{
        struct user *u = cay_container_of(ch, struct user, ch);

        must(!u->ended && end->kind == u->kind && end->code < CAY_CODE_COUNT);
        must(!cay_box_channel_is_open(ch));
        for (int i = CAY_STREAM_OUT; i < CAY_STREAM_COUNT; i++)
                must(u->got[i] == 0 || u->eof[i]);
        if (end->msg.len > 0)
                must(!memchr(end->msg.ptr, 0, end->msg.len));
        u->ended = true;
        act(u);
}

static void on_lost(struct cay_box_client *c, int reason)
{
        must(reason <= 0);
        must(!cay_box_client_is_attached(c));
}

static const struct cay_box_client_events events = { .on_lost = on_lost };

static void open_one(struct user *u, uint8_t how)
{
        static const uint16_t kinds[] = { CAY_BOX_EXEC, CAY_BOX_EXEC,  CAY_BOX_READ,
                                          CAY_BOX_STAT, CAY_BOX_WRITE, CAY_BOX_CONNECT };
        static const char *const argv[] = { "sh", NULL };
        struct cay_box_open open = { .kind = kinds[how % CAY_COUNT(kinds)], .window = WINDOW };

        cay_box_channel_close(&u->ch);
        *u = (struct user){ .kind = open.kind };
        u->ch = (struct cay_box_channel){ .on_data = on_data,
                                          .on_opened = on_opened,
                                          .on_eof = on_eof,
                                          .on_room = on_room,
                                          .on_end = on_end };
        if (open.kind == CAY_BOX_CONNECT)
                open.connect.port = 1;
        else if (open.kind != CAY_BOX_EXEC)
                open.file.path = (struct cay_view){ .ptr = "/x", .len = 2 };
        must(cay_box_channel_open(play->client, &u->ch, &open, argv, NULL) == 0 || u->ch.client == NULL);
}

static void attach(void)
{
        int fds[2];

        if (play->streams++ >= STREAMS_MAX)
                return;
        if (play->fd >= 0)
                close(play->fd);
        must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
        play->fd = fds[1];
        must(cay_box_client_attach_take(play->client, fds[0]) == 0);
}

static void say_bytes(const void *bytes, size_t len)
{
        static uint8_t sink[65536];

        if (play->fd < 0)
                return;
        /* What the client says is read and dropped, so that its writes do not stall. */
        while (read(play->fd, sink, sizeof(sink)) == (ssize_t)sizeof(sink))
                ;
        if (len > 0 && send(play->fd, bytes, len, MSG_NOSIGNAL) < 0 && errno != EAGAIN) {
                close(play->fd);
                play->fd = -1;
        }
}

static void say(unsigned type, uint32_t channel, unsigned stream, uint64_t seq, const void *payload,
                size_t len)
{
        struct cay_frame f = { .len = (uint32_t)len,
                               .channel = channel,
                               .seq = seq,
                               .type = (uint16_t)type,
                               .stream = (uint16_t)stream };
        uint8_t frame[CAY_FRAME_HEADER + 8192];

        cay_frame_encode(&f, frame);
        if (len > 0)
                memcpy(frame + CAY_FRAME_HEADER, payload, len);
        say_bytes(frame, CAY_FRAME_HEADER + len);
}

static void say_data(struct user *u, unsigned stream, uint64_t offset, size_t len)
{
        uint8_t bytes[8192];

        for (size_t i = 0; i < len; i++)
                bytes[i] = pattern(stream, offset + i);
        say(CAY_FRAME_DATA, u->ch.number, stream, offset, bytes, len);
}

static void say_end(struct user *u, uint16_t kind)
{
        struct cay_box_end m = { .kind = kind, .code = next_u8() % CAY_CODE_COUNT, .msg = { "text", 4 } };
        uint8_t payload[512];
        int len = cay_box_end_encode(&m, payload, sizeof(payload));

        must(len > 0);
        say(CAY_FRAME_END, u->ch.number, 0, 0, payload, (size_t)len);
}

static void say_welcome(void)
{
        struct cay_box_welcome m = { .version = CAY_BOX_VERSION, .count = next_u8() % 4 };
        uint8_t payload[64];
        int len;

        for (uint32_t i = 0; i < m.count; i++)
                m.channels[i] = 1 + i * 3 + next_u8();
        len = cay_box_welcome_encode(&m, payload, sizeof(payload));
        if (len > 0)
                say(CAY_FRAME_WELCOME, 0, 0, 0, payload, (size_t)len);
}

/* Offsets near the right one, or exactly. */
static uint64_t bend(uint64_t right)
{
        uint8_t how = next_u8();

        if (how < 200)
                return right;
        return how & 1 ? right + next_u16() : right - next_u16();
}

static void from_init(struct user *u, uint8_t op)
{
        unsigned stream = next_u8() & 1 ? CAY_STREAM_OUT : CAY_STREAM_ERR;
        struct cay_box_opened opened;
        uint8_t payload[64];
        size_t len;

        switch (op % 8) {
        case 0:
                say_welcome();
                break;
        case 1:
                opened = (struct cay_box_opened){ .pid = 5, .in_got = bend(u->ch.in.sent) & INT64_MAX };
                len = (size_t)cay_box_opened_encode(&opened, payload, sizeof(payload));
                say(CAY_FRAME_OPENED, u->ch.number, 0, 0, payload, len);
                break;
        case 2:
                len = 1 + next_u16() % 5000;
                say_data(u, stream, bend(u->got[stream]), len);
                break;
        case 3:
                say(CAY_FRAME_EOF, u->ch.number, stream, bend(u->got[stream]), NULL, 0);
                break;
        case 4:
                say(CAY_FRAME_ACK, u->ch.number, CAY_STREAM_IN, bend(u->ch.in.sent), NULL, 0);
                break;
        case 5:
                say_end(u, next_u8() < 230 ? u->kind : CAY_BOX_MKDIR);
                break;
        case 6:
                say(next_u8() % 20, next_u8() % 8, stream, next_u16(), payload, next_u8() % sizeof(payload));
                break;
        default:
                len = next_u8();
                len = len < (size_t)(play->end - play->at) ? len : (size_t)(play->end - play->at);
                play->raw = true;
                say_bytes(play->at, len);
                play->at += len;
                break;
        }
}

static void from_owner(struct user *u, uint8_t op)
{
        uint8_t bytes[5000] = { 0 };
        unsigned stream = next_u8() & 1 ? CAY_STREAM_OUT : CAY_STREAM_ERR;
        size_t len = next_u16();

        switch (op % 10) {
        case 0:
                attach();
                break;
        case 1:
                open_one(u, next_u8());
                break;
        case 2:
                len = len < u->owed[stream] ? len : u->owed[stream];
                if (!cay_box_channel_is_open(&u->ch))
                        break;
                cay_box_channel_ack(&u->ch, stream, len);
                u->owed[stream] -= len;
                break;
        case 3:
                must(cay_box_channel_write(&u->ch, bytes, len % sizeof(bytes)) <= WINDOW);
                break;
        case 4:
                cay_box_channel_write_eof(&u->ch);
                break;
        case 5:
                cay_box_channel_signal(&u->ch, (int)(len % 70));
                cay_box_channel_resize(&u->ch, 24, 80);
                break;
        case 6:
                cay_box_channel_kill(&u->ch, len % (CAY_KILLED_COUNT + 1));
                break;
        case 7:
                cay_box_channel_close(&u->ch);
                break;
        case 8:
                if (len == 255)
                        cay_box_client_ask_kinds(play->client);
                else
                        cay_box_client_ping(play->client, len);
                break;
        default:
                u->then = len % 6;
                break;
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const uint8_t secret[CAY_BOX_SECRET];
        static struct cay_loop *loop; /* one for all: what is left in it would show */
        struct play p = { .at = data, .end = data + size, .fd = -1 };

        if (!loop)
                loop = cay_loop_new();
        must(loop);
        play = &p;
        p.loop = loop;
        p.client = cay_box_client_new(loop, secret, &events, &p);
        must(p.client);
        for (int i = 0; i < CHANNELS; i++)
                open_one(&p.users[i], (uint8_t)i);
        attach();
        while (p.at < p.end && p.client) {
                uint8_t op = next_u8();
                struct user *u = &p.users[op >> 5 & 3];

                if (op & 128)
                        from_owner(u, op & 31);
                else
                        from_init(u, op & 31);
                if (next_u8() & 3)
                        must(cay_loop_round(loop, 0) == 0);
        }
        for (int i = 0; i < 4 && p.client; i++)
                must(cay_loop_round(loop, 0) == 0);
        cay_box_client_free(p.client);
        if (p.fd >= 0)
                close(p.fd);
        must(cay_loop_round(loop, 0) == 0);
        play = NULL;
        return 0;
}
