/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A channel: one exec or one file operation, its streams and its end.
 *
 * Theory of operation. A channel's process writes to pipes (or a terminal); pumps move the bytes to the
 * senders' rings, from where they are sent as DATA while the peer has room. A full ring stops its pump, which
 * stops the writer. IN is the opposite direction. States: RUNNING (its process has not ended), DRAINING (it
 * has; the rest of the pipes is read), ENDED (END is built and sent after every byte before it). An ended
 * channel is kept for resends until the front closes it. A closed channel is invisible to the front but stays
 * in the list while one of these exists: its process, background processes in its node (their output is read
 * and dropped), its filter's listener. While no stream is attached, or after a reconnect that did not resume
 * it, a channel sends nothing.
 */
#pragma once

#include <sys/resource.h>

#include "foundation/base/buf.h"
#include "links/box/message.h"
#include "links/box/stream.h"
#include "cay-init/child.h"
#include "cay-init/group.h"
#include "cay-init/init.h"
#include "cay-init/notify.h"

#define CAY_CHANNEL_OUTS 2 /* OUT and ERR */
#define CAY_CHANNEL_PLAIN_END 512

enum cay_channel_state { CAY_CHANNEL_RUNNING, CAY_CHANNEL_DRAINING, CAY_CHANNEL_ENDED };

struct cay_pump { /* pipe or terminal → ring */
        struct cay_watch watch;
        struct cay_channel *channel;
        int fd;        /* owned; -1: closed */
        bool used;     /* the channel has this stream */
        bool limited;  /* after the process's end: only `left` bytes more are its output */
        bool dropping; /* the stream is complete: further output is discarded */
        uint64_t left;
        struct cay_sender sender;
        uint64_t bytes; /* produced */
};

struct cay_feed { /* IN → pipe or terminal */
        struct cay_watch watch;
        int fd; /* owned; -1: closed */
        bool tty;
        struct cay_receiver receiver;
        struct cay_buf waiting; /* received, not yet taken by the process */
};

struct cay_channel {
        struct cay_init *init;
        struct cay_channel *next;
        uint32_t number;
        uint16_t kind;
        enum cay_channel_state state;
        bool attached;                       /* the front of this stream knows it */
        bool closed;                         /* by the front */
        bool opened;                         /* pid is known: OPENED may be sent */
        bool opened_sent, ack_due, end_sent; /* on this stream */
        bool exited;                         /* the process itself has ended */
        bool eof_due;                        /* EOF may be sent although the process has not ended */
        bool one_shot;
        bool is_warm; /* status_fd is the socket to the driver of an interpreter (warm.h) */
        uint32_t opened_pid;
        struct cay_pump pumps[CAY_CHANNEL_OUTS];
        struct cay_feed feed;
        struct cay_timer drop_timer, eof_timer;
        struct cay_group group;
        struct cay_watch status; /* of the socket to the child */
        int status_fd;           /* owned; -1: closed */
        int32_t failed_step, failed_sys;
        struct cay_worker_result *result; /* owned; a worker's */

        /* exec.c's */
        struct cay_timer wall_timer, cpu_timer, kill_timer;
        struct cay_notify notify;
        uint32_t exec_flags;
        uint32_t killed; /* enum cay_box_killed; the first reason is kept */
        uint64_t output_max_bytes, cpu_max_us, cut_bytes;
        uint64_t start_ns, wall_us, user_us, sys_us, kill_until_ms;
        uint64_t oom_before, pids_before; /* counters.h */
        uint64_t most_bytes;              /* the largest resident set of its reaped processes */
        int wait_status;
        char name[64]; /* of the command, cut; for messages */
        char directory[96];

        uint8_t *end; /* owned: END's payload */
        uint32_t end_len;
        struct cay_deferred freeing;
        bool is_freeing;
};

/* The box ends with it: nothing more will be requested from the box. */
static inline bool cay_channel_ends_box(const struct cay_channel *ch)
{
        return ch->one_shot && !(ch->exec_flags & CAY_BOX_STAY);
}

/* The stream was lost or a new one begins: every channel has to be introduced again. */
void cay_channel_cut_all(struct cay_init *init);
void cay_channel_forget_ended(struct cay_init *init); /* SYNC: ended ones that were not introduced */
struct cay_channel *cay_channel_find(struct cay_init *init,
                                     uint32_t number); /* not closed ones; NULL: none */
/*
 * Opens a channel as requested; a failure becomes its END. NULL: the table is full, END is sent and nothing
 * is kept.
 */
struct cay_channel *cay_channel_open(struct cay_init *init, uint32_t number, const struct cay_box_open *open);
/* 0, or -EPROTO when the front violated the protocol. */
int cay_channel_attach(struct cay_channel *ch,
                       const struct cay_box_resume *have); /* resume: OPENED, then resend */
int cay_channel_on_data(struct cay_channel *ch, uint64_t offset, const uint8_t *bytes, uint32_t len);
int cay_channel_on_eof(struct cay_channel *ch, uint64_t length);
int cay_channel_on_ack(struct cay_channel *ch, unsigned stream, uint64_t offset);
void cay_channel_close(struct cay_channel *ch);

/*
 * Continues as far as possible: draining, END, sending, and release. Call it after any change of the channel.
 */
void cay_channel_step(struct cay_channel *ch);
void cay_channel_send(struct cay_channel *ch);    /* as much as there is room for */
void cay_channel_send_all(struct cay_init *init); /* the peer has room */
/* A minimal END, for when there is no memory for more. Its length, or -errno. */
int cay_channel_plain_end(uint16_t kind, enum cay_code code, int sys, uint8_t *payload, size_t size);
bool cay_channel_reaped(struct cay_init *init, pid_t pid, int status, const struct rusage *used);
/*
 * A process of ours was stopped, by code that has the same id: continue a keeper or a worker. A command may
 * stay stopped.
 */
void cay_channel_stopped(struct cay_init *init, pid_t pid);
void cay_channel_tidy_all(struct cay_init *init); /* a process has died: nodes may be empty now */
/* The largest resident set of ended processes, as wait reports it. */
void cay_channel_note_memory(struct cay_channel *ch, uint64_t most_kib);
/* The process's end, from wait or keeper. */
void cay_channel_exited(struct cay_channel *ch, int status, uint64_t user_us, uint64_t sys_us);
void cay_channel_fail(struct cay_channel *ch, enum cay_code code, int sys, const char *fmt, ...)
        CAY_PRINTF(4, 5);
void cay_channel_put_end(struct cay_channel *ch, const struct cay_box_end *end);

/* pump.c */
void cay_pump_init(struct cay_pump *p, struct cay_channel *ch);
int cay_pump_start_take(struct cay_pump *p, int fd); /* 0 or -errno */
void cay_pump_go(struct cay_pump *p);                /* reads on if there is room (again) */
void cay_pump_rest(struct cay_pump *p);              /* pauses until then: the process is about to end */
void cay_pump_limit(struct cay_pump *p); /* the process has ended: only what is in the pipe now counts */
bool cay_pump_is_done(const struct cay_pump *p);
void cay_pump_abandon(struct cay_pump *p); /* no reader any more: further output is dropped */
void cay_pump_stop(struct cay_pump *p);
void cay_feed_init(struct cay_feed *f);
void cay_feed_go(struct cay_channel *ch); /* writes pending input, acknowledges, closes at the end */
void cay_feed_stop(struct cay_feed *f);
