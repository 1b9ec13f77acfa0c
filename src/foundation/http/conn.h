/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A byte connection on the loop: TCP or unix socket, plain or TLS. Knows nothing of HTTP.
 *
 * Theory of operation. The owner embeds the struct, zeroed, and is told through one table of events. Input is collected in
 * `in`, which has a maximum: the owner takes bytes from the front (cay_conn_took) and a full buffer stops reading, so a
 * sender that is faster than the owner is slowed down by its own socket. Output that the kernel does not take at once is
 * queued in `out`: cay_conn_queued() tells how much, on_drain when it is little again; there is a hard maximum, behind
 * which writes are refused. While corked, small writes are collected and leave together.
 *
 * Memory. Where cay_conn_charge() names budgets, the buffers are charged to them. A write that there is no room for is refused
 * as a whole (-ENOBUFS). Reading goes on in small pieces; when there is no room for those either, what the owner keeps in `in`
 * is more than it may: it is told with `starved`.
 *
 * Ends. `eof`: all input was read. `fin`: the other side has said that it sends no more, though bytes may still lie in
 * the kernel; it may still read, which TCP cannot tell from being gone. A reset, a hang-up or a write that does not
 * move for `stall_ms` is on_lost. Where `drains` is set, what was sent before a hang-up is told first, however late the owner
 * reads it: only what is complete, or broken off, is on_lost then, and a write that nobody takes any more just fails.
 * cay_conn_finish() flushes, says our own end, and (where asked for) reads and throws
 * away what the other side still sends, while it does and for a while: closing at once would reset the connection and take
 * the last answer from the other side's hands.
 *
 * Memory: after cay_conn_close() and inside or after on_lost nothing is told any more; the owner frees itself by
 * cay_loop_defer, never inside a callback.
 *
 * A unix peer may pass one descriptor along with its bytes. It lies in `passed_fd` until somebody takes it; further ones
 * are closed at once, as it is itself when the connection closes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "foundation/base/buf.h"
#include "foundation/http/tls.h"
#include "foundation/loop/loop.h"

#define CAY_CONN_HIGH (256u * 1024) /* bytes queued from which a writer should wait for on_drain */
#define CAY_CONN_LOW (64u * 1024)   /* on_drain comes at or below this */
#define CAY_CONN_OUT_MAX (64u * 1024 * 1024)

struct cay_conn;

struct cay_conn_events {
        void (*on_input)(struct cay_conn *c); /* bytes in `in`, `eof` was just set, or a kick was asked for */
        void (*on_fin)(struct cay_conn *c);   /* once; NULL: not interesting */
        void (*on_drain)(struct cay_conn *c); /* the queue was high and is low again */
        /* Once, closed already. 0: finished as asked; -ECONNRESET, -EPIPE, -ETIMEDOUT (stalled), -EPROTO (TLS) … */
        void (*on_lost)(struct cay_conn *c, int why);
        void (*on_deadline)(struct cay_conn *c); /* the one that the owner set; it is unset again */
};

enum cay_conn_state {
        CAY_CONN_CLOSED,
        CAY_CONN_OPEN,
        CAY_CONN_FLUSHING,  /* cay_conn_finish: the queue first */
        CAY_CONN_LINGERING, /* our end was said; input is thrown away */
};

struct cay_conn {
        const struct cay_conn_events *events;
        struct cay_loop *loop; /* borrowed */
        struct cay_buf in;     /* read here, take with cay_conn_took */
        enum cay_conn_state state;
        bool eof, fin;
        bool starved;  /* there is no room to read more: told once, by on_input; lost if it stays so */
        bool drains;   /* the owner sets it, while open: a hang-up waits for the last byte to be read */
        int passed_fd; /* owned; -1: none */
        uint32_t stall_ms;
        uint32_t linger_ms; /* the owner sets it: the most in all; 0: 30 s */

        /* below: private to conn.c */
        struct cay_watch watch;
        struct cay_timer timer;
        struct cay_deferred kick;
        struct cay_buf out;
        struct cay_tls *tls;          /* owned; NULL: plain */
        enum cay_tls_fault tls_fault; /* in on_lost: why TLS failed, if it did */
        int fd;
        bool is_unix, paused, linger, was_high, kicked, ended;
        bool unwatched; /* a hang-up would show again and again while nobody reads */
        bool shut_asked, end_said;
        bool read_wants_out, write_wants_in; /* TLS may need the other direction first */
        int write_error;                     /* told from the kick */
        unsigned corked;
        size_t chunk;
        uint64_t deadline_ms, stalled_ms; /* 0: none */
        uint64_t linger_end_ms;
};

/*
 * Takes fd (a connected stream socket, made non-blocking here) and tls (NULL: plain), also on failure. in_max bounds `in`.
 * 0 or -errno.
 */
int cay_conn_open_take(struct cay_loop *loop, struct cay_conn *c, int fd, struct cay_tls *tls, size_t in_max,
                       const struct cay_conn_events *events);
void cay_conn_charge(struct cay_conn *c, struct cay_budget *in,
                     struct cay_budget *out); /* borrowed, outlive it */
void cay_conn_close(struct cay_conn *c);      /* at once; tells nothing; fine when closed or zeroed */
/* Flushes, then says the end; on_lost(0) comes when it is done, -errno when that failed. Input is not told any more. */
void cay_conn_finish(struct cay_conn *c, bool linger);
bool cay_conn_is_open(const struct cay_conn *c); /* false once finish was called, too */

void cay_conn_took(struct cay_conn *c, size_t len);
void cay_conn_pause(struct cay_conn *c); /* no more on_input; fin and loss are still told */
void cay_conn_resume(struct cay_conn *c);
void cay_conn_kick(struct cay_conn *c); /* on_input at the end of this round, unless paused then */

/* 0: sent or queued, whole; -EPIPE: not open; -ENOSPC, -ENOBUFS, -ENOMEM: refused, whole (or the connection was lost). */
int cay_conn_write(struct cay_conn *c, const void *bytes, size_t len);
int cay_conn_writev(struct cay_conn *c, const struct iovec *parts, unsigned count); /* at most 4 parts */
size_t cay_conn_queued(const struct cay_conn *c);
int cay_conn_check(const struct cay_conn *c,
                   size_t len); /* what writing that much would come to: 0 or as above */
void cay_conn_break(struct cay_conn *c,
                    int why); /* what was written is not whole: on_lost comes, from the loop */
/* For building output in place, while corked: room in the queue or NULL; then cay_conn_put. */
char *cay_conn_room(struct cay_conn *c, size_t len);
void cay_conn_put(struct cay_conn *c, size_t len);
/* on_drain also if the queue is not high now: once it is low. */
void cay_conn_ask_drain(struct cay_conn *c);
void cay_conn_shut(struct cay_conn *c); /* half-close: no more is written; after the queue is out */
void cay_conn_cork(struct cay_conn *c);
void cay_conn_uncork(struct cay_conn *c);

/* One at a time; 0 clears it. While finishing it is not told: finishing has deadlines of its own. */
void cay_conn_set_deadline(struct cay_conn *c, uint64_t after_ms);
