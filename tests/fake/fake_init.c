/* SPDX-License-Identifier: Apache-2.0 */
/* A box without a box: the link's protocol in full, commands that are a few lines each. */
#include "fake/fake_init.h"

#include <errno.h>
#include <signal.h>

#include "foundation/base/cleanup.h"

#define CHANNELS 80

enum work { NOTHING, COUNT, ALTERNATE, CAT, WAIT };

struct channel {
        bool used, ended, told;
        bool attached; /* introduced on this stream */
        bool blank;    /* counts zeros */
        uint32_t number;
        uint16_t kind;
        enum work work;
        uint64_t to_count, counted, limit, produced;
        bool cut, one_shot; /* one_shot: the box goes with it */
        char text[4096];
        size_t text_len, text_at;
        enum cay_stream text_stream;
        struct cay_sender out[CAY_STREAM_COUNT];
        struct cay_receiver in;
        uint64_t in_consumed;
        struct cay_box_end end;
        struct cay_timer wall;
        struct fake_init *init;
};

struct fake_init {
        struct cay_peer peer;
        struct cay_loop *loop;
        const struct fake_script *script;
        unsigned accepted;
        uint8_t secret[CAY_BOX_SECRET];
        bool welcomed, exiting;
        void (*on_exit)(void *ctx);
        void *exit_ctx;
        uint64_t sent;
        unsigned lost;
        struct channel channels[CHANNELS];
        struct cay_deferred cut;
        bool cutting;
};

uint8_t fake_pattern(uint64_t offset)
{
        return (uint8_t)(offset * 131 + (offset >> 8) * 7 + (offset >> 16));
}

static struct channel *find(struct fake_init *init, uint32_t number)
{
        for (unsigned i = 0; i < CHANNELS; i++)
                if (init->channels[i].used && init->channels[i].number == number)
                        return &init->channels[i];
        return NULL;
}

static void forget(struct channel *c)
{
        cay_timer_clear(&c->wall);
        for (unsigned i = 0; i < CAY_STREAM_COUNT; i++)
                cay_sender_done(&c->out[i]);
        *c = (struct channel){ 0 };
}

static void on_cut(struct cay_deferred *d)
{
        struct fake_init *init = cay_container_of(d, struct fake_init, cut);

        init->cutting = false;
        cay_peer_close(&init->peer);
        if (init->exiting)
                init->on_exit(init->exit_ctx); /* may free it */
}

static void cut(struct fake_init *init)
{
        if (init->cutting)
                return;
        init->cutting = true;
        init->lost++;
        init->sent = 0;
        init->cut.run = on_cut;
        cay_loop_defer(init->loop, &init->cut);
}

static bool is_cut_due(struct fake_init *init)
{
        const struct fake_script *s = init->script;

        return s->lose_after_bytes > 0 && init->sent >= s->lose_after_bytes &&
               (s->lose_times == 0 || init->lost < s->lose_times);
}

/* Sends what the rings hold; true when one stream of the channel is wholly sent. */
static bool flush(struct fake_init *init, struct channel *c, enum cay_stream stream)
{
        struct cay_sender *s = &c->out[stream];
        const uint8_t *bytes;
        uint64_t offset;
        size_t len;

        while ((len = cay_sender_next(s, CAY_FRAME_DATA_MAX, &bytes, &offset)) > 0) {
                if (init->cutting || is_cut_due(init)) {
                        cut(init);
                        return false;
                }
                if (cay_peer_send(&init->peer, CAY_FRAME_DATA, c->number, stream, offset, bytes, len) < 0)
                        return false;
                cay_sender_sent(s, len);
                init->sent += len;
        }
        if (!s->eof)
                return false;
        if (!s->eof_sent &&
            cay_peer_send(&init->peer, CAY_FRAME_EOF, c->number, stream, s->written, NULL, 0) < 0)
                return false;
        s->eof_sent = true;
        return true;
}

static void tell_end(struct fake_init *init, struct channel *c)
{
        uint8_t payload[12288];
        int len;

        if (init->script->never_end && c->kind == CAY_BOX_EXEC)
                return;
        if ((init->script->vanish && c->kind == CAY_BOX_EXEC) ||
            (init->script->changes.vanish && c->kind == CAY_BOX_CHANGES)) {
                cut(init);
                return;
        }
        if (init->script->garbage && c->kind == CAY_BOX_EXEC) {
                static const char junk[] = "this is no frame at all, is it?";

                if (write(init->peer.watch.fd, junk, sizeof(junk)) < 0)
                        cut(init);
                return;
        }
        if (init->script->impossible_end && c->kind == CAY_BOX_EXEC) {
                c->end.exec.exit_code = -1;
                c->end.exec.signal = 0;
        }
        if (c->kind == CAY_BOX_EXEC && c->end.code == CAY_OK) {
                c->end.exec.out_bytes = c->out[CAY_STREAM_OUT].written + c->end.exec.cut_bytes;
                c->end.exec.err_bytes = c->out[CAY_STREAM_ERR].written;
        }
        len = cay_box_end_encode(&c->end, payload, sizeof(payload));
        if (len >= 0 && cay_peer_send(&init->peer, CAY_FRAME_END, c->number, 0, 0, payload, (size_t)len) == 0)
                c->told = true;
}

/* Puts bytes into a ring within the output limit; how many were dealt with. */
static size_t produce(struct channel *c, enum cay_stream stream, const void *bytes, size_t len)
{
        uint64_t left = c->limit > c->produced ? c->limit - c->produced : 0;
        size_t put;

        if (c->limit > 0 && len > left) {
                if (c->cut) {
                        put = cay_sender_put(&c->out[stream], bytes, (size_t)left);
                        c->produced += put;
                        if (put < left)
                                return put;
                        c->end.exec.cut_bytes += len - left;
                        return len;
                }
                len = (size_t)left;
                if (len == 0) {
                        c->ended = true;
                        c->end.exec.exit_code = -1;
                        c->end.exec.signal = SIGKILL;
                        c->end.exec.killed = CAY_KILLED_OUTPUT;
                        return 0;
                }
        }
        put = cay_sender_put(&c->out[stream], bytes, len);
        c->produced += put;
        return put;
}

static bool is_unsent(struct channel *c)
{
        const uint8_t *bytes;
        uint64_t offset;

        for (unsigned i = CAY_STREAM_OUT; i < CAY_STREAM_COUNT; i++) {
                flush(c->init, c, i);
                if (cay_sender_next(&c->out[i], 1, &bytes, &offset) > 0)
                        return true;
        }
        return false;
}

/* Each byte in a frame of its own, as long as windows and link take them. */
static void alternate(struct channel *c)
{
        while (c->counted < c->to_count && c->attached && !c->init->cutting) {
                enum cay_stream stream = c->counted % 2 == 0 ? CAY_STREAM_OUT : CAY_STREAM_ERR;
                uint8_t byte = fake_pattern(c->counted);

                if (is_unsent(c) || produce(c, stream, &byte, 1) == 0)
                        return;
                c->counted++;
                flush(c->init, c, stream);
        }
}

static void work(struct channel *c)
{
        if (c->work == ALTERNATE)
                alternate(c);
        if (c->text_at < c->text_len) {
                c->text_at += produce(c, c->text_stream, c->text + c->text_at, c->text_len - c->text_at);
                if (c->text_at < c->text_len)
                        return;
        }
        while (c->work == COUNT && c->counted < c->to_count && !c->ended) {
                static const uint8_t zeros[65536];
                uint8_t piece[1024];
                size_t len = c->blank ? sizeof(zeros) : sizeof(piece), put;

                if (len > c->to_count - c->counted)
                        len = (size_t)(c->to_count - c->counted);
                for (size_t i = 0; !c->blank && i < len; i++)
                        piece[i] = fake_pattern(c->counted + i);
                put = produce(c, CAY_STREAM_OUT, c->blank ? zeros : piece, len);
                c->counted += put;
                if (put < len)
                        return;
        }
        if (c->work == NOTHING || ((c->work == COUNT || c->work == ALTERNATE) && c->counted == c->to_count) ||
            (c->work == CAT && c->in.eof))
                c->ended = true;
}

static void pump(struct fake_init *init)
{
        if (!cay_peer_is_open(&init->peer) || !init->welcomed)
                return;
        for (unsigned i = 0; i < CHANNELS; i++) {
                struct channel *c = &init->channels[i];
                bool out, err;

                if (!c->used || c->told)
                        continue;
                if (!c->ended)
                        work(c);
                if (!c->attached)
                        continue;
                if (c->end.code != CAY_OK) {
                        tell_end(init, c); /* refused: there are no streams to end */
                        continue;
                }
                if (c->ended)
                        c->out[CAY_STREAM_OUT].eof = c->out[CAY_STREAM_ERR].eof = true;
                out = flush(init, c, CAY_STREAM_OUT);
                err = c->kind == CAY_BOX_EXEC ? flush(init, c, CAY_STREAM_ERR) : true;
                if (c->ended && out && err && !init->cutting)
                        tell_end(init, c);
        }
}

static void end_by(struct channel *c, int signo, unsigned killed)
{
        if (c->ended || c->init->script->never_end)
                return;
        c->ended = true;
        c->end.exec.exit_code = -1;
        c->end.exec.signal = signo;
        c->end.exec.killed = killed;
}

static void on_wall(struct cay_timer *t)
{
        struct channel *c = cay_container_of(t, struct channel, wall);

        end_by(c, SIGKILL, CAY_KILLED_WALL_TIME);
        pump(c->init);
}

static void say(struct channel *c, enum cay_stream stream, const char *text, size_t len)
{
        c->text_stream = stream;
        c->text_len = len < sizeof(c->text) ? len : sizeof(c->text);
        memcpy(c->text, text, c->text_len);
}

static void start(struct channel *c, const struct cay_box_exec *e)
{
        struct cay_view strings = e->args, argv[4] = { { 0 } }, env;
        char word[64] = "", line[4096];
        int n;

        for (uint32_t i = 0; i < e->argc; i++) {
                struct cay_view s = cay_box_next_string(&strings);

                if (i < CAY_COUNT(argv))
                        argv[i] = s;
        }
        snprintf(word, sizeof(word), "%.*s", (int)argv[0].len, argv[0].ptr);
        snprintf(line, sizeof(line), "%.*s", (int)argv[1].len, argv[1].ptr != NULL ? argv[1].ptr : "");
        c->end.exec.exit_code = 0;
        if (strcmp(word, "exit") == 0) {
                c->end.exec.exit_code = (int)strtol(line, NULL, 10);
        } else if (strcmp(word, "echo") == 0 || strcmp(word, "warn") == 0) {
                n = (int)strlen(line);
                line[n++] = '\n';
                say(c, word[0] == 'e' ? CAY_STREAM_OUT : CAY_STREAM_ERR, line, (size_t)n);
        } else if (strcmp(word, "cat") == 0) {
                c->work = CAT;
        } else if (strcmp(word, "wait") == 0) {
                c->work = WAIT;
        } else if (strcmp(word, "count") == 0 || strcmp(word, "alternate") == 0) {
                c->work = word[0] == 'c' ? COUNT : ALTERNATE;
                c->to_count = strtoull(line, NULL, 10);
        } else if (strcmp(word, "pwd") == 0) {
                say(c, CAY_STREAM_OUT, e->cwd.ptr, e->cwd.len);
        } else if (strcmp(word, "whoami") == 0) {
                n = snprintf(line, sizeof(line), "%u:%u", e->uid, e->gid);
                say(c, CAY_STREAM_OUT, line, (size_t)n);
        } else if (strcmp(word, "env") == 0) {
                size_t len = strlen(line);

                for (uint32_t i = 0; i < e->envc; i++) {
                        env = cay_box_next_string(&strings);
                        if (env.len > len && memcmp(env.ptr, line, len) == 0 && env.ptr[len] == '=')
                                say(c, CAY_STREAM_OUT, env.ptr + len + 1, env.len - len - 1);
                }
        } else {
                c->end.code = CAY_NOT_FOUND;
                c->end.sys = ENOENT;
        }
}

static struct channel *take_channel(struct fake_init *init)
{
        for (unsigned i = 0; i < CHANNELS; i++)
                if (!init->channels[i].used)
                        return &init->channels[i];
        return NULL;
}

static int send_opened(struct fake_init *init, const struct channel *c)
{
        struct cay_box_opened m = { .pid = 42, .in_got = c->in.got };
        uint8_t payload[16];
        int len = cay_box_opened_encode(&m, payload, sizeof(payload));

        return cay_peer_send(&init->peer, CAY_FRAME_OPENED, c->number, 0, 0, payload, (size_t)len);
}

static int on_open(struct fake_init *init, const struct cay_frame *f, const uint8_t *payload)
{
        const struct fake_script *s = init->script;
        struct channel *c = find(init, f->channel);
        struct cay_box_open m;

        if (cay_box_open_decode(payload, f->len, &m) < 0 ||
            (s->knows_no_kinds && m.kind > CAY_BOX_KINDS_UNTOLD))
                return -EPROTO;
        if (c != NULL) {
                c->attached = true;
                return send_opened(init, c);
        }
        c = take_channel(init);
        if (c == NULL)
                return -EPROTO;
        *c = (struct channel){
                .used = true, .attached = true, .number = f->channel, .kind = m.kind, .init = init
        };
        c->end = (struct cay_box_end){ .kind = m.kind };
        for (unsigned i = 0; i < CAY_STREAM_COUNT; i++)
                cay_sender_init(&c->out[i], m.window);
        cay_receiver_init(&c->in, m.window);
        if (m.kind == CAY_BOX_EXEC) {
                c->end.exec = s->end;
                c->one_shot = (m.exec.flags & (CAY_BOX_ONE_SHOT | CAY_BOX_STAY)) == CAY_BOX_ONE_SHOT;
                c->cut = m.exec.flags & CAY_BOX_CUT;
                c->limit = s->ignore_limits ? 0 : m.exec.output_max_bytes;
                if (s->end_code != 0)
                        c->end.code = (uint8_t)s->end_code;
                else
                        start(c, &m.exec);
                if (!(m.exec.flags & CAY_BOX_STDIN))
                        c->in.eof = true;
                if (s->wall_early_ms > 0 && m.exec.wall_ms > s->wall_early_ms)
                        cay_timer_set(init->loop, &c->wall, m.exec.wall_ms - s->wall_early_ms, on_wall);
        } else if (m.kind == CAY_BOX_READ && s->passwd != NULL) {
                say(c, CAY_STREAM_OUT, s->passwd, strlen(s->passwd));
        } else if (m.kind == CAY_BOX_ACCEPT) {
                c->work = CAT;
                if (init->accepted >= s->accept_most) {
                        c->told = true;
                        return 0;
                }
                init->accepted++;
        } else if (m.kind == CAY_BOX_CHANGES) {
                c->end.code = (uint8_t)s->changes.code;
                c->end.msg = (struct cay_view){ "no such luck\n", s->changes.code != 0 ? 13 : 0 };
                c->work = s->changes.stall ? WAIT : COUNT;
                c->to_count = s->changes.bytes;
                c->blank = s->changes.blank;
                c->end.file.bytes = s->changes.bytes + s->changes.lie_bytes;
                c->end.file.entries = s->changes.entries;
                c->end.file.stat.size = s->changes.left_out;
        } else {
                c->end.code = CAY_NOT_FOUND;
        }
        if (c->end.code != CAY_OK)
                c->ended = true;
        else if (!s->never_open && send_opened(init, c) < 0)
                return -EPROTO;
        if (s->never_open)
                c->told = true;
        return 0;
}

static int on_resume(struct fake_init *init, struct channel *c, const uint8_t *payload, uint32_t len)
{
        struct cay_box_resume m;

        if (c == NULL || cay_box_resume_decode(payload, len, &m) < 0 ||
            cay_sender_resume(&c->out[CAY_STREAM_OUT], m.out_got) < 0 ||
            cay_sender_resume(&c->out[CAY_STREAM_ERR], m.err_got) < 0)
                return -EPROTO;
        c->told = false;
        c->attached = true;
        return send_opened(init, c);
}

/* As an init may: what ended and was not introduced on this stream is forgotten. */
static void on_sync(struct fake_init *init)
{
        for (unsigned i = 0; i < CHANNELS; i++)
                if (init->channels[i].used && init->channels[i].ended && !init->channels[i].attached)
                        forget(&init->channels[i]);
}

static int on_data(struct fake_init *init, struct channel *c, const struct cay_frame *f,
                   const uint8_t *payload)
{
        int64_t skip = cay_receiver_data(&c->in, f->seq, f->len);

        if (skip < 0)
                return -EPROTO;
        if (c->work == CAT && !c->ended) {
                /* As much as the ring takes is assumed to fit: tests stay below a window. */
                size_t len = f->len - (size_t)skip;

                if (produce(c, CAY_STREAM_OUT, payload + skip, len) < len)
                        return -EPROTO;
        }
        c->in_consumed = c->in.got;
        if (cay_receiver_consumed(&c->in, c->in_consumed))
                cay_peer_send(&init->peer, CAY_FRAME_ACK, c->number, CAY_STREAM_IN, c->in.acked, NULL, 0);
        return 0;
}

static int on_channel_frame(struct fake_init *init, struct channel *c, const struct cay_frame *f,
                            const uint8_t *payload)
{
        enum cay_box_killed why;
        int signo;

        switch (f->type) {
        case CAY_FRAME_DATA:
                return on_data(init, c, f, payload);
        case CAY_FRAME_EOF:
                return cay_receiver_eof(&c->in, f->seq);
        case CAY_FRAME_ACK:
                return cay_sender_ack(&c->out[f->stream], f->seq);
        case CAY_FRAME_SIGNAL:
                if (cay_box_signal_decode(payload, f->len, &signo) < 0)
                        return -EPROTO;
                end_by(c, signo, CAY_KILLED_NOT);
                return 0;
        case CAY_FRAME_KILL:
                if (cay_box_kill_decode(payload, f->len, &why) < 0)
                        return -EPROTO;
                end_by(c, SIGKILL, why);
                return 0;
        case CAY_FRAME_CLOSE:
                if (c->one_shot && init->on_exit != NULL) {
                        init->exiting = true;
                        cut(init);
                }
                forget(c);
                return 0;
        default:
                return 0;
        }
}

static int on_hello(struct fake_init *init, const uint8_t *payload, uint32_t len)
{
        struct cay_box_welcome w = { .version = CAY_BOX_VERSION };
        struct cay_box_hello m;
        uint8_t out[2048];
        int n;

        if (cay_box_hello_decode(payload, len, &m) < 0 ||
            memcmp(m.secret, init->secret, sizeof(m.secret)) != 0)
                return -EPROTO;
        for (unsigned i = 0; i < CHANNELS; i++)
                if (init->channels[i].used)
                        w.channels[w.count++] = init->channels[i].number;
        n = cay_box_welcome_encode(&w, out, sizeof(out));
        init->welcomed = true;
        return cay_peer_send(&init->peer, CAY_FRAME_WELCOME, 0, 0, 0, out, (size_t)n);
}

static int on_ping(struct fake_init *init, const uint8_t *payload, uint32_t len)
{
        struct cay_bytes_reader r;
        struct cay_bytes_writer w;
        uint8_t answer[8];
        uint64_t token;

        cay_reader_init(&r, payload, len);
        token = cay_get_u64(&r);
        if (cay_box_is_about_kinds(token) && !init->script->knows_no_kinds)
                token |= CAY_BOX_KIND_COUNT - 1;
        cay_writer_init(&w, answer, sizeof(answer));
        cay_put_u64(&w, token);
        return cay_peer_send(&init->peer, CAY_FRAME_PONG, 0, 0, 0, answer, sizeof(answer));
}

static int on_frame(struct cay_peer *p, const struct cay_frame *f, const uint8_t *payload)
{
        struct fake_init *init = cay_container_of(p, struct fake_init, peer);
        struct channel *c = find(init, f->channel);
        int r = 0;

        if (init->script->mute)
                return 0;
        if (f->type == CAY_FRAME_HELLO)
                r = on_hello(init, payload, f->len);
        else if (!init->welcomed)
                r = -EPROTO;
        else if (f->type == CAY_FRAME_OPEN)
                r = on_open(init, f, payload);
        else if (f->type == CAY_FRAME_RESUME)
                r = on_resume(init, c, payload, f->len);
        else if (f->type == CAY_FRAME_SYNC)
                on_sync(init);
        else if (f->type == CAY_FRAME_PING)
                r = on_ping(init, payload, f->len);
        else if (c != NULL)
                r = on_channel_frame(init, c, f, payload);
        if (r == 0)
                pump(init);
        return r;
}

static void on_room(struct cay_peer *p)
{
        pump(cay_container_of(p, struct fake_init, peer));
}

static void on_lost(struct cay_peer *p, int reason)
{
        cay_peer_close(p);
}

struct fake_init *fake_init_new(struct cay_loop *loop, const struct fake_script *script,
                                const uint8_t secret[CAY_BOX_SECRET], void (*on_exit)(void *ctx), void *ctx)
{
        struct fake_init *init = calloc(1, sizeof(*init));

        if (init == NULL)
                return NULL;
        init->loop = loop;
        init->script = script;
        init->on_exit = on_exit;
        init->exit_ctx = ctx;
        memcpy(init->secret, secret, CAY_BOX_SECRET);
        init->peer.on_frame = on_frame;
        init->peer.on_room = on_room;
        init->peer.on_lost = on_lost;
        return init;
}

int fake_init_link_take(struct fake_init *init, int fd)
{
        cay_peer_close(&init->peer);
        init->welcomed = false;
        init->sent = 0;
        for (unsigned i = 0; i < CHANNELS; i++)
                init->channels[i].attached = false;
        return cay_peer_open_take(init->loop, &init->peer, fd, CAY_SIDE_FRONT);
}

static void on_free(struct cay_deferred *d)
{
        free(cay_container_of(d, struct fake_init, cut));
}

void fake_init_free(struct fake_init *init)
{
        if (init == NULL)
                return;
        cay_peer_close(&init->peer);
        for (unsigned i = 0; i < CHANNELS; i++)
                if (init->channels[i].used)
                        forget(&init->channels[i]);
        if (init->cutting) {
                init->cut.run = on_free; /* is queued already: freed when its turn comes */
                return;
        }
        free(init);
}

void fake_init_cut(struct fake_init *init)
{
        cut(init);
}

void fake_init_forget_link(struct fake_init *init)
{
        cay_peer_close(&init->peer);
}
