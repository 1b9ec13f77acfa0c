/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A byte connection on the loop: TCP or unix socket, plain or TLS. Knows nothing of HTTP.
 *
 * Theory of operation. The owner embeds the struct, zeroed, and is notified through one table of events.
 * Input is collected in `in`, which has a maximum: the owner takes bytes from the front (cay_conn_took) and a
 * full buffer stops reading, so a sender that is faster than the owner is slowed down by its own socket.
 * Output that the kernel does not take at once is queued in `out`: cay_conn_queued() returns how much, and
 * on_drain reports when it is low again. Writes beyond a hard maximum are refused. While corked, small writes
 * are collected and sent together.
 *
 * Memory. Where cay_conn_charge() names budgets, the buffers are charged to them. A write that exceeds the
 * budget is refused as a whole (-ENOBUFS). Reading continues in small pieces. When there is no room for those
 * either, the owner keeps too much in `in` and is notified with `starved`.
 *
 * Ends. `eof`: all input was read. `fin`: the other side sends no more, though unread bytes may still be in
 * the kernel. It may still read; TCP cannot distinguish that from a closed peer. A reset, a hang-up or a
 * write that stalls for `stall_ms` causes on_lost. Where `drains` is set, data sent before a hang-up is
 * delivered first, however late the owner reads it. on_lost follows only after the last byte or a reset, and
 * a write to a closed peer just fails. cay_conn_finish() flushes, half-closes and, where requested, reads and
 * discards further input for a bounded time. Closing immediately would reset the connection, and the other
 * side could lose the last answer.
 *
 * Lifetime: after cay_conn_close() and inside or after on_lost there are no more callbacks; the owner frees
 * itself by cay_loop_defer, never inside a callback.
 *
 * A unix peer may pass one descriptor along with its bytes. It is kept in `passed_fd` until it is taken or
 * the connection closes. Further ones are closed immediately.
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
        void (*on_input)(struct cay_conn *c); /* bytes in `in`, `eof` was just set, or a kick was requested */
        void (*on_fin)(struct cay_conn *c);   /* once; NULL: not interesting */
        void (*on_drain)(struct cay_conn *c); /* the queue was high and is low again */
        /*
         * Called once, already closed. 0: finished as requested; -ECONNRESET, -EPIPE, -ETIMEDOUT (stalled),
         * -EPROTO (TLS) …
         */
        void (*on_lost)(struct cay_conn *c, int why);
        void (*on_deadline)(struct cay_conn *c); /* the deadline set by the owner; it is unset again */
};

enum cay_conn_state {
        CAY_CONN_CLOSED,
        CAY_CONN_OPEN,
        CAY_CONN_FLUSHING,  /* cay_conn_finish: the queue first */
        CAY_CONN_LINGERING, /* half-closed; input is discarded */
};

struct cay_conn {
        const struct cay_conn_events *events;
        struct cay_loop *loop; /* borrowed */
        struct cay_buf in;     /* read here, take with cay_conn_took */
        enum cay_conn_state state;
        bool eof, fin;
        bool starved;  /* no room to read more: reported once, by on_input; lost if it stays so */
        bool drains;   /* set by the owner, while open: a hang-up waits until the last byte is read */
        int passed_fd; /* owned; -1: none */
        uint32_t stall_ms;
        uint32_t linger_ms; /* set by the owner: total maximum; 0: 30 s */

        /* below: private to conn.c */
        struct cay_watch watch;
        struct cay_timer timer;
        struct cay_deferred kick;
        struct cay_buf out;
        struct cay_tls *tls;          /* owned; NULL: plain */
        enum cay_tls_fault tls_fault; /* in on_lost: why TLS failed, if it did */
        int fd;
        bool is_unix, paused, linger, was_high, kicked, ended;
        bool unwatched; /* a hang-up would be reported repeatedly while nothing is read */
        bool shut_asked, end_said;
        bool read_wants_out, write_wants_in; /* TLS may need the other direction first */
        int write_error;                     /* reported from the kick */
        unsigned corked;
        size_t chunk;
        uint64_t deadline_ms, stalled_ms; /* 0: none */
        uint64_t linger_end_ms;
};

/*
 * Takes fd (a connected stream socket, made non-blocking here) and tls (NULL: plain), also on failure. in_max
 * bounds `in`. 0 or -errno.
 */
int cay_conn_open_take(struct cay_loop *loop, struct cay_conn *c, int fd, struct cay_tls *tls, size_t in_max,
                       const struct cay_conn_events *events);
void cay_conn_charge(struct cay_conn *c, struct cay_budget *in,
                     struct cay_budget *out); /* borrowed, outlive it */
void cay_conn_close(struct cay_conn *c);      /* immediately; no callbacks; allowed when closed or zeroed */
/*
 * Flushes, then half-closes. on_lost(0) follows when done, or on_lost(-errno) on failure. No more on_input.
 */
void cay_conn_finish(struct cay_conn *c, bool linger);
bool cay_conn_is_open(const struct cay_conn *c); /* also false once finish was called */

void cay_conn_took(struct cay_conn *c, size_t len);
void cay_conn_pause(struct cay_conn *c); /* no more on_input; fin and loss are still reported */
void cay_conn_resume(struct cay_conn *c);
void cay_conn_kick(struct cay_conn *c); /* on_input at the end of this round, unless paused then */

/*
 * 0: all sent or queued; -EPIPE: not open; -ENOSPC, -ENOBUFS, -ENOMEM: all refused (or the connection was
 * lost).
 */
int cay_conn_write(struct cay_conn *c, const void *bytes, size_t len);
int cay_conn_writev(struct cay_conn *c, const struct iovec *parts, unsigned count); /* at most 4 parts */
size_t cay_conn_queued(const struct cay_conn *c);
int cay_conn_check(const struct cay_conn *c, size_t len); /* the result of writing that much: 0 or as above */
void cay_conn_break(struct cay_conn *c,
                    int why); /* the written data is incomplete: on_lost follows, from the loop */
/* For building output in place, while corked: room in the queue or NULL; then cay_conn_put. */
char *cay_conn_room(struct cay_conn *c, size_t len);
void cay_conn_put(struct cay_conn *c, size_t len);
/* Request on_drain even if the queue is not high now: once it is low. */
void cay_conn_ask_drain(struct cay_conn *c);
void cay_conn_shut(struct cay_conn *c); /* half-close after the queue is sent: no more writes */
void cay_conn_cork(struct cay_conn *c);
void cay_conn_uncork(struct cay_conn *c);

/* One at a time; 0 clears it. Not reported while finishing, which has its own deadlines. */
void cay_conn_set_deadline(struct cay_conn *c, uint64_t after_ms);
