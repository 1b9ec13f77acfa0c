/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a front says to a box without init, and what it is told. The theory is in no_init.h; a breach ends the
 * stream and nothing else. As in cay-init/channel_send.c all that is to be said is state, not queued frames:
 * a new stream only resets it.
 */
#include "cay-docker/no_init.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "foundation/base/utf8.h"

#define NO_INIT "this sandbox has no init (init: none): "
/* of commands: what is longer than 95 bytes in all is cut by fronts */
#define WITHOUT "a sandbox without init (init: none) "

static struct docker_no_init *of_peer(struct cay_peer *p)
{
        return cay_container_of(p, struct docker_no_init, peer);
}

/* Saying */

static bool send_opened(struct docker_no_init *o)
{
        struct cay_box_opened m = { .pid = 1, .in_got = o->in.got };
        uint8_t payload[sizeof(m)];
        int len = cay_box_opened_encode(&m, payload, sizeof(payload));

        if (cay_peer_send(&o->peer, CAY_FRAME_OPENED, o->number, 0, 0, payload, (size_t)len) < 0)
                return false;
        o->opened_sent = true;
        o->ack_due = o->in.acked > 0;
        return true;
}

static bool send_ack(struct docker_no_init *o)
{
        if (cay_peer_send(&o->peer, CAY_FRAME_ACK, o->number, CAY_STREAM_IN, o->in.acked, NULL, 0) < 0)
                return false;
        o->ack_due = false;
        return true;
}

static bool send_stream(struct docker_no_init *o, unsigned i)
{
        struct cay_sender *s = &o->outs[i];
        unsigned stream = CAY_STREAM_OUT + i;
        const uint8_t *bytes;
        uint64_t offset;
        size_t len = cay_sender_next(s, CAY_FRAME_DATA_MAX, &bytes, &offset);

        if (len > 0) {
                if (cay_peer_send(&o->peer, CAY_FRAME_DATA, o->number, stream, offset, bytes, len) < 0)
                        return false;
                cay_sender_sent(s, len);
                return true;
        }
        if (!cay_sender_is_finished(s) || s->eof_sent ||
            cay_peer_send(&o->peer, CAY_FRAME_EOF, o->number, stream, s->written, NULL, 0) < 0)
                return false;
        s->eof_sent = true;
        return true;
}

static bool send_end(struct docker_no_init *o)
{
        if (o->state != DOCKER_NO_INIT_ENDED || o->end_sent ||
            (o->opened_sent && (!o->outs[0].eof_sent || !o->outs[1].eof_sent)))
                return false;
        if (cay_peer_send(&o->peer, CAY_FRAME_END, o->number, 0, 0, o->end, o->end_len) < 0)
                return false;
        o->end_sent = true;
        return true;
}

static bool may_say_opened(const struct docker_no_init *o)
{
        return o->state == DOCKER_NO_INIT_RUNNING || (o->state == DOCKER_NO_INIT_ENDED && o->spent);
}

/* The next thing; false: nothing, or no room for it. */
static bool send_some(struct docker_no_init *o)
{
        bool any = false;

        if (may_say_opened(o) && !o->opened_sent && !send_opened(o))
                return false;
        if (o->opened_sent) {
                any = o->ack_due && send_ack(o);
                any |= send_stream(o, 0);
                any |= send_stream(o, 1);
        }
        return send_end(o) || any;
}

void docker_no_init_step(struct docker_no_init *o)
{
        if (o->number == 0 || !o->attached || !cay_peer_is_open(&o->peer))
                return;
        cay_peer_cork(&o->peer);
        while (send_some(o) && cay_peer_has_room(&o->peer))
                ;
        cay_peer_uncork(&o->peer);
}

/* Ends */

/* The channel is done with: its windows go, and the words of its request. */
static void forget(struct docker_no_init *o)
{
        o->number = 0;
        o->broker->no_init_bytes -= o->reserved;
        o->reserved = 0;
        cay_sender_done(&o->outs[0]);
        cay_sender_done(&o->outs[1]);
        cay_buf_done(&o->waiting);
        o->order.exec = NULL;
        cay_buf_done(&o->request);
        if (o->state == DOCKER_NO_INIT_ENDED && !o->spent)
                o->state = DOCKER_NO_INIT_IDLE; /* it was never started: another may be */
}

void docker_no_init_end(struct docker_no_init *o, const struct cay_box_end *end)
{
        static const struct cay_box_end plain = { .kind = CAY_BOX_EXEC,
                                                  .code = CAY_INTERNAL,
                                                  .exec = { .exit_code = -1, .last_denied = -1 } };
        int len = cay_box_end_encode(end, o->end, sizeof(o->end));

        if (len < 0) /* a value out of range */
                len = cay_box_end_encode(&plain, o->end, sizeof(o->end));
        o->end_len = (size_t)len;
        o->state = DOCKER_NO_INIT_ENDED;
        o->outs[0].eof = o->outs[1].eof = true;
        if (o->number == 0)
                forget(o); /* nobody waits for it */
        else
                docker_no_init_step(o);
}

void docker_no_init_fail(struct docker_no_init *o, const struct cay_error *why)
{
        struct cay_box_end end = {
                .kind = CAY_BOX_EXEC,
                .code = (uint8_t)why->code,
                .sys = why->sys,
                .msg = { .ptr = why->msg, .len = (uint32_t)strnlen(why->msg, sizeof(why->msg)) },
                .exec = { .exit_code = -1, .last_denied = -1 },
        };

        docker_no_init_end(o, &end);
}

/* Nothing is kept of it: a front that has not seen the answer opens again. */
static int refuse(struct docker_no_init *o, uint32_t number, uint16_t kind, enum cay_code code,
                  const char *text)
{
        struct cay_box_end end = { .kind = kind,
                                   .code = (uint8_t)code,
                                   .msg = { .ptr = text, .len = (uint32_t)strlen(text) } };
        uint8_t payload[CAY_BOX_MSG_MAX + 512];
        int len;

        if (kind == CAY_BOX_EXEC)
                end.exec = (struct cay_box_exec_end){ .exit_code = -1, .last_denied = -1 };
        len = cay_box_end_encode(&end, payload, sizeof(payload));
        if (len < 0)
                return -EPROTO;
        if (number > o->refused)
                o->refused = number;
        return cay_peer_send(&o->peer, CAY_FRAME_END, number, 0, 0, payload, (size_t)len);
}

/* Opening */

static const char *word_of(unsigned kind)
{
        switch (kind) {
        case CAY_BOX_CONNECT:
        case CAY_BOX_SOCKET:
        case CAY_BOX_ACCEPT:
                return NO_INIT "its ports cannot be reached; make one with an init for that";
        case CAY_BOX_PROCESSES:
                return NO_INIT "its processes cannot be listed; make one with an init for that";
        default:
                return NO_INIT "files cannot be read or written in it; give the command a workspace folder, "
                               "or make a "
                               "sandbox with an init";
        }
}

/* Docker takes JSON: what is no UTF-8 would reach the command as something else. */
static bool is_text(const struct cay_box_exec *exec)
{
        struct cay_view strings = exec->args;

        for (uint32_t i = 0; i < exec->argc + exec->envc; i++) {
                struct cay_view s = cay_box_next_string(&strings);

                if (!cay_utf8_valid(s.ptr, s.len))
                        return false;
        }
        return cay_utf8_valid(exec->cwd.ptr, exec->cwd.len);
}

static bool is_own(uint32_t id)
{
        return id == CAY_BOX_ID_DEFAULT || id == DOCKER_USER;
}

/* NULL: it can run. */
static const char *why_not(const struct docker_no_init *o, const struct cay_box_exec *exec,
                           enum cay_code *ret)
{
        *ret = CAY_UNSUPPORTED;
        if (exec->flags & CAY_BOX_TTY)
                return WITHOUT "has no terminal; leave it out, or make one with an init";
        if (!is_own(exec->uid) || !is_own(exec->gid))
                return "the docker engine runs commands only as user 1001";
        *ret = CAY_CONFLICT;
        if (o->state == DOCKER_NO_INIT_STARTING || o->state == DOCKER_NO_INIT_RUNNING || o->number != 0)
                return WITHOUT "runs one command, which runs now: make another sandbox";
        if (o->spent)
                return WITHOUT "runs one command, which has run: make another sandbox";
        *ret = CAY_INVALID;
        if (!is_text(exec))
                return WITHOUT "takes words, environment and directory only in UTF-8";
        if (exec->cwd.len > 0 && exec->cwd.ptr[0] != '/')
                return WITHOUT "takes only an absolute working directory";
        return NULL;
}

static int keep_request(struct docker_no_init *o, const uint8_t *payload, size_t len)
{
        cay_buf_init(&o->request, CAY_FRAME_MAX);
        if (cay_buf_put(&o->request, payload, len) < 0)
                return -ENOMEM;
        return cay_box_open_decode(cay_buf_data(&o->request), len, &o->open);
}

static void set_up(struct docker_no_init *o, uint32_t number, size_t bytes)
{
        o->number = number;
        o->reserved = bytes;
        o->broker->no_init_bytes += bytes;
        o->attached = true;
        o->opened_sent = o->ack_due = o->end_sent = false;
        for (unsigned i = 0; i < 2; i++)
                cay_sender_init(&o->outs[i], o->open.window);
        cay_receiver_init(&o->in, o->open.window);
        cay_buf_init(&o->waiting, o->open.window);
        o->order.exec = &o->open.exec;
}

static int on_open(struct docker_no_init *o, const struct cay_frame *f, const uint8_t *payload)
{
        struct cay_box_open open;
        enum cay_code code;
        const char *why;
        size_t bytes;

        if (cay_box_open_decode(payload, f->len, &open) < 0)
                return -EPROTO;
        if (open.kind != CAY_BOX_EXEC)
                return refuse(o, f->channel, open.kind, CAY_UNSUPPORTED, word_of(open.kind));
        why = why_not(o, &open.exec, &code);
        if (why)
                return refuse(o, f->channel, open.kind, code, why);
        bytes = 3u * (size_t)open.window;
        if (o->broker->no_init_bytes + bytes > DOCKER_NO_INIT_ALL_MAX ||
            keep_request(o, payload, f->len) < 0) {
                cay_buf_done(&o->request);
                return refuse(o, f->channel, open.kind, CAY_LIMIT,
                              "too many commands of sandboxes without init run at once");
        }
        set_up(o, f->channel, bytes);
        docker_no_init_start(o);
        return 0;
}

/* Hearing */

static int attach(struct docker_no_init *o, const struct cay_box_resume *have)
{
        if (o->attached || cay_sender_resume(&o->outs[0], have->out_got) < 0 ||
            cay_sender_resume(&o->outs[1], have->err_got) < 0)
                return -EPROTO;
        o->attached = true;
        o->opened_sent = o->end_sent = false;
        docker_no_init_step(o);
        return 0;
}

static int on_resume(struct docker_no_init *o, const struct cay_frame *f, const uint8_t *payload)
{
        struct cay_box_resume have;

        return cay_box_resume_decode(payload, f->len, &have) < 0 ? -EPROTO : attach(o, &have);
}

static int on_data(struct docker_no_init *o, const struct cay_frame *f, const uint8_t *payload)
{
        int64_t skip = cay_receiver_data(&o->in, f->seq, f->len);

        if (skip < 0)
                return (int)skip;
        if (cay_buf_put(&o->waiting, payload + skip, f->len - (size_t)skip) < 0)
                return -ENOMEM;
        docker_no_init_feed(o);
        docker_no_init_step(o);
        return 0;
}

static int on_eof(struct docker_no_init *o, uint64_t length)
{
        int r = cay_receiver_eof(&o->in, length);

        if (r == 0)
                docker_no_init_feed(o);
        return r;
}

static int on_ack(struct docker_no_init *o, const struct cay_frame *f)
{
        if (cay_sender_ack(&o->outs[f->stream - CAY_STREAM_OUT], f->seq) < 0)
                return -EPROTO;
        docker_no_init_take_output(o);
        docker_no_init_step(o);
        return 0;
}

static int on_signal(struct docker_no_init *o, const struct cay_frame *f, const uint8_t *payload)
{
        int signo;

        if (cay_box_signal_decode(payload, f->len, &signo) < 0)
                return -EPROTO;
        docker_no_init_signal(o, signo);
        return 0;
}

static int on_kill(struct docker_no_init *o, const struct cay_frame *f, const uint8_t *payload)
{
        enum cay_box_killed why;

        if (cay_box_kill_decode(payload, f->len, &why) < 0)
                return -EPROTO;
        docker_no_init_kill(o, why);
        return 0;
}

/* Before the end, all that still runs is killed, and nothing more of it is wanted. */
static void on_close(struct docker_no_init *o)
{
        bool runs = o->state == DOCKER_NO_INIT_STARTING || o->state == DOCKER_NO_INIT_RUNNING;

        if (!runs) {
                forget(o);
                return;
        }
        o->number = 0;
        docker_no_init_kill(o, CAY_KILLED_ASKED);
        docker_no_init_take_output(o);
}

/* Frames of the command's channel, which the front has introduced on this stream. */
static int on_channel_frame(struct docker_no_init *o, const struct cay_frame *f, const uint8_t *payload)
{
        bool ended = o->state == DOCKER_NO_INIT_ENDED;

        switch (f->type) {
        case CAY_FRAME_ACK:
                return on_ack(o, f);
        case CAY_FRAME_DATA:
                return ended ? 0 : on_data(o, f, payload);
        case CAY_FRAME_EOF:
                return ended ? 0 : on_eof(o, f->seq);
        case CAY_FRAME_SIGNAL:
                return ended ? 0 : on_signal(o, f, payload);
        case CAY_FRAME_KILL:
                return ended ? 0 : on_kill(o, f, payload);
        case CAY_FRAME_RESIZE:
                return 0; /* there is no terminal */
        default:
                return -EPROTO;
        }
}

static bool is_secret(const uint8_t *a, const uint8_t *b)
{
        volatile uint8_t diff = 0;

        for (size_t i = 0; i < CAY_BOX_SECRET; i++)
                diff |= a[i] ^ b[i];
        return diff == 0;
}

static int on_hello(struct docker_no_init *o, const struct cay_frame *f, const uint8_t *payload)
{
        struct cay_box_welcome welcome = { .version = CAY_BOX_VERSION };
        uint8_t answer[16];
        struct cay_box_hello hello;
        bool known;
        int len;

        _Static_assert(CAY_BOX_SECRET == HELPER_SECRET, "one secret");
        if (o->welcomed || cay_box_hello_decode(payload, f->len, &hello) < 0)
                return -EPROTO;
        known = is_secret(hello.secret, o->order.plan.secret) && hello.version == CAY_BOX_VERSION;
        explicit_bzero(hello.secret, sizeof(hello.secret));
        if (!known)
                return -EPROTO;
        if (o->number != 0)
                welcome.channels[welcome.count++] = o->number;
        len = cay_box_welcome_encode(&welcome, answer, sizeof(answer));
        o->welcomed =
                len > 0 && cay_peer_send(&o->peer, CAY_FRAME_WELCOME, 0, 0, 0, answer, (size_t)len) == 0;
        return o->welcomed ? 0 : -EPROTO;
}

/* An ended command that the front does not know any more may go. */
static int on_sync(struct docker_no_init *o)
{
        if (o->number != 0 && !o->attached && o->state == DOCKER_NO_INIT_ENDED)
                forget(o);
        return 0;
}

/* Of a channel that is not the command's: what still comes for a refused one means nothing. */
static int on_other(const struct docker_no_init *o, const struct cay_frame *f)
{
        if (f->type == CAY_FRAME_CLOSE)
                return 0;
        return f->channel <= o->refused && f->type != CAY_FRAME_RESUME ? 0 : -EPROTO;
}

static int on_frame(struct cay_peer *p, const struct cay_frame *f, const uint8_t *payload)
{
        static const struct cay_box_resume from_start = { 0 };
        struct docker_no_init *o = of_peer(p);

        if (f->type == CAY_FRAME_HELLO)
                return on_hello(o, f, payload);
        if (!o->welcomed)
                return -EPROTO;
        if (f->type == CAY_FRAME_PING)
                return cay_peer_send(p, CAY_FRAME_PONG, 0, 0, 0, payload, f->len);
        if (f->type == CAY_FRAME_SYNC)
                return on_sync(o);
        if (o->number == 0 || f->channel != o->number)
                return f->type == CAY_FRAME_OPEN ? on_open(o, f, payload) : on_other(o, f);
        if (f->type == CAY_FRAME_OPEN)
                return attach(o, &from_start);
        if (f->type == CAY_FRAME_RESUME)
                return on_resume(o, f, payload);
        if (f->type == CAY_FRAME_CLOSE) {
                on_close(o);
                return 0;
        }
        return o->attached ? on_channel_frame(o, f, payload) : -EPROTO;
}

static void on_room(struct cay_peer *p)
{
        docker_no_init_step(of_peer(p));
}

/* Streams */

static void drop_stream(struct docker_no_init *o)
{
        cay_peer_close(&o->peer);
        o->welcomed = o->attached = o->opened_sent = o->end_sent = false;
}

static void on_lost(struct cay_peer *p, int reason)
{
        drop_stream(of_peer(p));
}

/* As an init does it: what the front before said last counts. It may have been its end. */
int docker_no_init_link_take(struct docker_no_init *o, int fd)
{
        cay_peer_read_out(&o->peer);
        if (o->state == DOCKER_NO_INIT_LOST) {
                close(fd);
                return -ENOENT;
        }
        drop_stream(o);
        return cay_peer_open_take(o->broker->loop, &o->peer, fd, CAY_SIDE_FRONT);
}

int docker_no_init_open_take(struct docker_broker *b, struct docker_box *box,
                             const struct docker_order *order, int fd)
{
        struct docker_no_init *o = calloc(1, sizeof(*o));
        int r;

        if (!o) {
                close(fd);
                return -ENOMEM;
        }
        o->broker = b;
        o->box = box;
        o->order = *order;
        o->peer.on_frame = on_frame;
        o->peer.on_room = on_room;
        o->peer.on_lost = on_lost;
        r = docker_no_init_link_take(o, fd);
        if (r < 0) {
                free(o);
                return r;
        }
        box->no_init = o;
        return 0;
}

static void release_no_init_link(struct cay_deferred *d)
{
        struct docker_no_init *o = cay_container_of(d, struct docker_no_init, release);

        explicit_bzero(&o->order, sizeof(o->order));
        free(o);
}

void docker_no_init_free(struct docker_no_init *o)
{
        if (!o)
                return;
        drop_stream(o);
        docker_no_init_stop(o);
        forget(o);
        o->release.run = release_no_init_link;
        cay_loop_defer(o->broker->loop, &o->release);
}
