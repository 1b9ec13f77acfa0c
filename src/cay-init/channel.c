/* SPDX-License-Identifier: Apache-2.0 */
/* Channels: the table and their lifecycle. The theory is in channel.h; sending is in channel_send.c. */
#include "cay-init/channel.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>

#include "foundation/base/clock.h"
#include "cay-init/accept.h"
#include "cay-init/exec.h"
#include "cay-init/spawn.h"
#include "cay-init/warm.h"

#define WORKER_MS 1000u                     /* until a worker that was asked to exit is killed */
#define LIST_MAX (2 * CAY_BOX_CHANNELS_MAX) /* includes closed channels with live processes */

struct cay_channel *cay_channel_find(struct cay_init *init, uint32_t number)
{
        for (struct cay_channel *ch = init->channels; ch; ch = ch->next) {
                if (ch->number == number && !ch->closed)
                        return ch;
        }
        return NULL;
}

static void free_now(struct cay_deferred *d)
{
        struct cay_channel *ch = cay_container_of(d, struct cay_channel, freeing);

        free(ch->end);
        free(ch->result);
        free(ch);
}

static void unlink_channel(struct cay_channel *ch)
{
        struct cay_channel **at = &ch->init->channels;

        while (*at != ch)
                at = &(*at)->next;
        *at = ch->next;
        ch->init->channel_count--;
}

/*
 * Stops all events now. The memory is freed at the end of the round, since callers up the stack may still use
 * it.
 */
static void let_go(struct cay_channel *ch)
{
        if (ch->is_freeing)
                return;
        ch->is_freeing = true;
        unlink_channel(ch);
        cay_exec_stop(ch);
        cay_timer_clear(&ch->drop_timer);
        cay_timer_clear(&ch->eof_timer);
        cay_feed_stop(&ch->feed);
        for (int i = 0; i < CAY_CHANNEL_OUTS; i++)
                cay_pump_stop(&ch->pumps[i]);
        cay_spawn_hang_up(ch);
        ch->freeing.run = free_now;
        cay_loop_defer(ch->init->loop, &ch->freeing);
}

/* True if any process of it is alive; otherwise its pipes and its filter are unused. */
static bool lives(const struct cay_channel *ch)
{
        return ch->group.pid > 0 || ch->group.keeper > 0 || ch->group.node[0];
}

/* Opening */

static unsigned streams_of(const struct cay_box_open *open, const struct cay_worker *worker)
{
        if (worker)
                return worker->streams;
        if (open->kind == CAY_BOX_ACCEPT)
                return CAY_WORKER_IN | CAY_WORKER_OUT;
        return CAY_WORKER_OUT | (open->exec.flags & CAY_BOX_STDIN ? CAY_WORKER_IN : 0);
}

static void set_up_streams(struct cay_channel *ch, const struct cay_box_open *open,
                           const struct cay_worker *worker)
{
        unsigned streams = streams_of(open, worker);
        bool has_err = open->kind == CAY_BOX_EXEC && !(open->exec.flags & CAY_BOX_TTY);

        cay_receiver_init(&ch->feed.receiver, open->window);
        cay_buf_init(&ch->feed.waiting, open->window);
        for (int i = 0; i < CAY_CHANNEL_OUTS; i++) {
                ch->pumps[i].used = i == 0 ? streams & CAY_WORKER_OUT : has_err;
                if (!ch->pumps[i].used)
                        continue;
                cay_sender_init(&ch->pumps[i].sender, open->window);
                cay_sender_share(&ch->pumps[i].sender, &ch->init->rings, cay_box_pool_max(ch->kind));
        }
}

static void start(struct cay_channel *ch, const struct cay_box_open *open, const struct cay_worker *worker)
{
        struct cay_init *init = ch->init;

        if (open->kind == CAY_BOX_EXEC)
                cay_exec_begin(ch, &open->exec);
        if (open->kind != CAY_BOX_EXEC) {
                if (worker)
                        cay_spawn_start(ch, open, worker);
                else if (open->kind == CAY_BOX_ACCEPT)
                        cay_accept_begin(ch, open->connect.port);
                else
                        cay_channel_fail(ch, CAY_UNSUPPORTED, 0,
                                         "this cay-init does not know channels of kind %u", open->kind);
                return;
        }
        init->starting = ch;
        cay_proc_overlay_refresh(&init->proc_overlay);
        init->starting = NULL;
        cay_spawn_start(ch, open, NULL);
        if (ch->state == CAY_CHANNEL_RUNNING)
                cay_exec_started(ch, &open->exec);
}

static bool is_full(const struct cay_init *init)
{
        uint32_t open = 0;

        for (const struct cay_channel *ch = init->channels; ch; ch = ch->next)
                open += !ch->closed;
        return open >= CAY_BOX_CHANNELS_MAX || init->channel_count >= LIST_MAX;
}

/* Nothing of it is kept: a front that has not seen the answer opens again. */
static void refuse(struct cay_init *init, uint32_t number, uint16_t kind)
{
        static const char why[] = "this sandbox has as many commands, transfers and connections as it can "
                                  "hold (512 channels); end or close some, then try again";
        struct cay_box_end end = { .kind = kind, .code = CAY_LIMIT, .sys = ENOBUFS };
        uint8_t payload[CAY_CHANNEL_PLAIN_END];
        int len;

        static_assert(CAY_BOX_CHANNELS_MAX == 512, "as the text says");
        end.msg = (struct cay_view){ .ptr = why, .len = sizeof(why) - 1 };
        if (kind == CAY_BOX_EXEC)
                end.exec = (struct cay_box_exec_end){ .exit_code = -1, .last_denied = -1 };
        len = cay_box_end_encode(&end, payload, sizeof(payload));
        if (len > 0)
                cay_peer_send(&init->peer, CAY_FRAME_END, number, 0, 0, payload, (size_t)len);
}

struct cay_channel *cay_channel_open(struct cay_init *init, uint32_t number, const struct cay_box_open *open)
{
        struct cay_channel *ch = is_full(init) ? NULL : calloc(1, sizeof(*ch));
        const struct cay_worker *worker = cay_worker_find(open->kind);

        if (!ch) {
                refuse(init, number, open->kind);
                return NULL;
        }
        ch->init = init;
        ch->number = number;
        ch->kind = open->kind;
        ch->attached = true;
        ch->status_fd = -1;
        cay_group_init(&ch->group);
        cay_notify_init(&ch->notify);
        cay_feed_init(&ch->feed);
        for (int i = 0; i < CAY_CHANNEL_OUTS; i++)
                cay_pump_init(&ch->pumps[i], ch);
        ch->next = init->channels;
        init->channels = ch;
        init->channel_count++;
        set_up_streams(ch, open, worker);
        start(ch, open, worker);
        cay_channel_step(ch);
        return ch;
}

/* The end */

void cay_channel_put_end(struct cay_channel *ch, const struct cay_box_end *end)
{
        uint8_t payload[CAY_FRAME_END_MAX];
        int len = cay_box_end_encode(end, payload, sizeof(payload));

        assert(!ch->end);
        if (len < 0) /* a value out of range, from a worker */
                len = cay_channel_plain_end(ch->kind, CAY_INTERNAL, EPROTO, payload, sizeof(payload));
        ch->state = CAY_CHANNEL_ENDED;
        for (int i = 0; i < CAY_CHANNEL_OUTS; i++)
                ch->pumps[i].sender.eof = true;
        ch->end = len > 0 ? malloc((size_t)len) : NULL;
        if (!ch->end)
                return; /* no memory: send_end() uses a minimal one */
        memcpy(ch->end, payload, (size_t)len);
        ch->end_len = (uint32_t)len;
}

void cay_channel_fail(struct cay_channel *ch, enum cay_code code, int sys, const char *fmt, ...)
{
        struct cay_box_end end = { .kind = ch->kind, .code = (uint8_t)code, .sys = sys };
        char msg[256];
        va_list args;
        int len;

        if (ch->state == CAY_CHANNEL_ENDED)
                return;
        va_start(args, fmt);
        len = vsnprintf(msg, sizeof(msg), fmt, args);
        va_end(args);
        end.msg = (struct cay_view){ .ptr = msg, .len = len < 0 ? 0 : (uint32_t)strnlen(msg, sizeof(msg)) };
        if (ch->kind == CAY_BOX_EXEC)
                end.exec = (struct cay_box_exec_end){ .exit_code = -1, .last_denied = -1 };
        cay_channel_put_end(ch, &end);
}

static struct cay_view view_of(const char *s, size_t max)
{
        return (struct cay_view){ .ptr = s, .len = (uint32_t)strnlen(s, max - 1) };
}

static void put_worker_end(struct cay_channel *ch)
{
        const struct cay_worker_result *r = ch->result;
        struct cay_box_end end = { .kind = ch->kind };

        if (!r) {
                if (ch->failed_step != CAY_STEP_NONE)
                        cay_channel_fail(ch, ch->failed_step == CAY_STEP_IDS ? CAY_DENIED : CAY_INTERNAL,
                                         ch->failed_sys, "cannot start the operation: %s",
                                         strerror(ch->failed_sys));
                else if (WIFSIGNALED(ch->wait_status))
                        cay_channel_fail(ch, CAY_UNAVAILABLE, 0, "the operation was ended by signal %d",
                                         WTERMSIG(ch->wait_status));
                else
                        cay_channel_fail(ch, CAY_INTERNAL, 0, "the operation ended without a result");
                return;
        }
        end.code = r->code < CAY_CODE_COUNT ? (uint8_t)r->code : CAY_INTERNAL;
        end.sys = r->sys;
        end.msg = view_of(r->msg, sizeof(r->msg));
        end.file.stat = (struct cay_box_stat){
                .type = r->type,
                .mode = r->mode & 07777,
                .uid = r->uid,
                .gid = r->gid,
                .size = r->size,
                .mtime_ns = r->mtime_ns,
                .name = view_of(r->name, sizeof(r->name)),
                .target = view_of(r->target, sizeof(r->target)),
        };
        end.file.bytes = r->bytes;
        end.file.entries = r->entries;
        cay_channel_put_end(ch, &end);
}

void cay_channel_exited(struct cay_channel *ch, int status, uint64_t user_us, uint64_t sys_us)
{
        if (ch->exited)
                return;
        ch->exited = true;
        ch->wait_status = status;
        ch->user_us = user_us;
        ch->sys_us = sys_us;
        ch->wall_us = (cay_clock_ns() - ch->start_ns) / 1000;
        ch->group.pid = 0;
}

static void drain(struct cay_channel *ch)
{
        if (ch->kind == CAY_BOX_EXEC && !cay_exec_is_over(ch))
                return;
        for (int i = 0; i < CAY_CHANNEL_OUTS; i++)
                cay_pump_limit(&ch->pumps[i]);
        for (int i = 0; i < CAY_CHANNEL_OUTS; i++) {
                if (!cay_pump_is_done(&ch->pumps[i]))
                        return;
        }
        cay_feed_stop(&ch->feed);
        if (ch->kind == CAY_BOX_EXEC)
                cay_exec_put_end(ch);
        else
                put_worker_end(ch);
}

/* The node is removed only after END is queued: removing takes time, and END must not wait for it. */
static void tidy(struct cay_channel *ch)
{
        bool over = ch->exited || (ch->group.pid == 0 && ch->group.keeper == 0);

        if (ch->state != CAY_CHANNEL_ENDED || !over)
                return;
        cay_group_remove(&ch->group, ch->init->fds[CAY_INIT_FD_CGROUP2]);
        if (ch->closed && !lives(ch))
                let_go(ch);
}

void cay_channel_step(struct cay_channel *ch)
{
        if (ch->is_freeing)
                return;
        if (ch->kind == CAY_BOX_ACCEPT)
                cay_accept_step(ch);
        if (ch->state == CAY_CHANNEL_RUNNING && ch->exited) {
                cay_spawn_listen(ch); /* its last words */
                ch->state = CAY_CHANNEL_DRAINING;
                if (ch->kind == CAY_BOX_EXEC)
                        cay_exec_exited(ch);
        }
        if (ch->state == CAY_CHANNEL_DRAINING)
                drain(ch);
        cay_channel_send(ch);
        tidy(ch);
}

/* From the front */

int cay_channel_attach(struct cay_channel *ch, const struct cay_box_resume *have)
{
        uint64_t got[CAY_CHANNEL_OUTS] = { have->out_got, have->err_got };

        for (int i = 0; i < CAY_CHANNEL_OUTS; i++) {
                struct cay_pump *p = &ch->pumps[i];

                if (p->used ? cay_sender_resume(&p->sender, got[i]) < 0 : got[i] > 0)
                        return -EPROTO;
        }
        ch->attached = true;
        ch->opened_sent = ch->end_sent = false;
        cay_channel_step(ch);
        return 0;
}

/*
 * The front's own pool limits its unacknowledged data; exceeding it is a protocol violation. (Each channel's
 * window is larger, so that a single channel can be fast.)
 */
static bool has_too_much_in(const struct cay_init *init, uint32_t more)
{
        size_t bytes = more;

        for (const struct cay_channel *ch = init->channels; ch; ch = ch->next)
                bytes += ch->feed.waiting.len;
        return bytes > CAY_BOX_POOL_MAX + (size_t)CAY_BOX_CHANNELS_MAX * CAY_SENDER_LEAST;
}

int cay_channel_on_data(struct cay_channel *ch, uint64_t offset, const uint8_t *bytes, uint32_t len)
{
        struct cay_feed *f = &ch->feed;
        int64_t skip;

        if (has_too_much_in(ch->init, len))
                return -EPROTO;
        skip = cay_receiver_data(&f->receiver, offset, len);
        if (skip < 0)
                return (int)skip;
        bytes += skip;
        len -= (uint32_t)skip;
        if (f->fd >= 0 && f->waiting.len == 0 && len > 0) {
                ssize_t n = write(f->fd, bytes,
                                  len); /* straight from the frame; cay_feed_go handles any failure */

                if (n > 0) {
                        bytes += n;
                        len -= (uint32_t)n;
                }
        }
        if (f->fd >= 0 && cay_buf_put(&f->waiting, bytes, len) < 0)
                return -ENOMEM;
        cay_feed_go(ch);
        cay_channel_step(ch);
        return 0;
}

int cay_channel_on_eof(struct cay_channel *ch, uint64_t length)
{
        int r = cay_receiver_eof(&ch->feed.receiver, length);

        if (r < 0)
                return r;
        cay_feed_go(ch);
        cay_channel_step(ch);
        return 0;
}

int cay_channel_on_ack(struct cay_channel *ch, unsigned stream, uint64_t offset)
{
        struct cay_pump *p = &ch->pumps[stream - CAY_STREAM_OUT];

        if (!p->used)
                return -EPROTO;
        if (cay_sender_ack(&p->sender, offset) < 0)
                return -EPROTO;
        cay_pump_go(p);
        cay_channel_step(ch);
        return 0;
}

static void on_worker_time(struct cay_timer *t)
{
        struct cay_channel *ch = cay_container_of(t, struct cay_channel, kill_timer);

        if (ch->group.pid > 0)
                kill(ch->group.pid, SIGKILL);
}

/*
 * A worker that writes files is asked to exit first: it may have a temporary file to remove
 * (files_replace.h).
 */
static void end_worker(struct cay_channel *ch)
{
        bool writes = ch->kind == CAY_BOX_WRITE || ch->kind == CAY_BOX_TAR_IN;

        if (!writes || cay_timer_set(ch->init->loop, &ch->kill_timer, WORKER_MS, on_worker_time) < 0)
                kill(ch->group.pid, SIGKILL);
        else
                kill(ch->group.pid, SIGTERM);
}

void cay_channel_close(struct cay_channel *ch)
{
        bool running = ch->state != CAY_CHANNEL_ENDED;

        ch->closed = true;
        if (cay_channel_ends_box(ch)) /* no client waits for this box any more */
                ch->init->leaving = true;
        if (running) { /* before its input ends: a part must not be taken for the whole */
                if (ch->kind == CAY_BOX_EXEC)
                        cay_exec_kill(ch, CAY_KILLED_ASKED);
                else if (ch->kind == CAY_BOX_ACCEPT)
                        cay_accept_close(ch);
                else if (ch->group.pid > 0)
                        end_worker(ch);
        } else if (ch->kind == CAY_BOX_EXEC) {
                cay_prefork_want(ch->init);
                cay_warm_ended(ch->init);
        }
        cay_feed_stop(&ch->feed);
        for (int i = 0; i < CAY_CHANNEL_OUTS; i++)
                cay_pump_abandon(&ch->pumps[i]);
        cay_channel_step(ch);
}

void cay_channel_cut_all(struct cay_init *init)
{
        for (struct cay_channel *ch = init->channels; ch; ch = ch->next)
                ch->attached = ch->opened_sent = ch->end_sent = false;
}

void cay_channel_forget_ended(struct cay_init *init)
{
        struct cay_channel *next;

        for (struct cay_channel *ch = init->channels; ch; ch = next) {
                next = ch->next;
                if (ch->state == CAY_CHANNEL_ENDED && !ch->attached && !ch->closed)
                        cay_channel_close(ch);
        }
}

/* From the kernel */

static uint64_t micros(const struct timeval *t)
{
        return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

void cay_channel_note_memory(struct cay_channel *ch, uint64_t most_kib)
{
        if (most_kib < UINT64_MAX / 2048 && most_kib * 1024 > ch->most_bytes)
                ch->most_bytes = most_kib * 1024;
}

bool cay_channel_reaped(struct cay_init *init, pid_t pid, int status, const struct rusage *used)
{
        for (struct cay_channel *ch = init->channels; ch; ch = ch->next) {
                if (ch->group.keeper == pid) {
                        cay_spawn_listen(ch); /* while it is known: its messages may still be unread */
                        ch->group.keeper = 0;
                        /*
                         * Its rusage includes everything it had waited for, also processes that ended after
                         * the command itself.
                         */
                        ch->group.reaped_us = micros(&used->ru_utime) + micros(&used->ru_stime);
                        cay_channel_note_memory(ch, (uint64_t)used->ru_maxrss);
                        if (!ch->exited) /* killed by the code: the exec's exit status is lost */
                                cay_channel_exited(ch, SIGKILL, 0, 0);
                        cay_channel_step(ch);
                        return true;
                }
                if (ch->group.pid == pid && ch->group.keeper == 0) {
                        cay_channel_note_memory(ch, (uint64_t)used->ru_maxrss);
                        cay_channel_exited(ch, status, micros(&used->ru_utime), micros(&used->ru_stime));
                        return true; /* stepped when everything that died now is reaped */
                }
        }
        /*
         * Orphaned when its keeper was killed with everything else. With only one command the owner is clear.
         */
        for (struct cay_channel *ch = init->channels; ch; ch = ch->next) {
                if (!ch->one_shot)
                        continue;
                ch->group.reaped_us += micros(&used->ru_utime) + micros(&used->ru_stime);
                cay_channel_note_memory(ch, (uint64_t)used->ru_maxrss);
        }
        return false;
}

void cay_channel_stopped(struct cay_init *init, pid_t pid)
{
        bool ours = pid == init->spare.pid || cay_warm_has(init, pid);

        for (struct cay_channel *ch = init->channels; ch && !ours; ch = ch->next)
                ours = ch->group.keeper == pid || (ch->kind != CAY_BOX_EXEC && ch->group.pid == pid);
        if (ours)
                kill(pid, SIGCONT);
}

void cay_channel_tidy_all(struct cay_init *init)
{
        struct cay_channel *next;

        for (struct cay_channel *ch = init->channels; ch; ch = next) {
                next = ch->next;
                if (ch->exited || ch->closed || ch->killed != CAY_KILLED_NOT)
                        cay_channel_step(ch);
        }
}
