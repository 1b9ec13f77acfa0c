/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One direction of a channel. The sender keeps every byte until it is acknowledged, in a ring that grows on
 * demand up to the window. A full ring stops the writer; nothing is dropped. The receiver tracks its offset,
 * refuses gaps and overruns, and skips what it has seen already (a resend).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#include "foundation/base/banned.h"

#define CAY_SENDER_LEAST 4096u /* minimum size of a ring in use, even if the pool is exhausted */

struct cay_ring_pool { /* total size of the rings of one link; zeroed by its owner */
        uint32_t bytes;
};

struct cay_sender {
        uint8_t *ring;                 /* owned; allocated on first use, freed when empty and idle */
        uint32_t window;               /* maximum size of the ring */
        uint32_t size;                 /* of the ring now */
        uint64_t acked, sent, written; /* offsets: acked ≤ sent ≤ written ≤ acked + size */
        bool eof;                      /* no more will be written */
        bool eof_sent;
        struct cay_ring_pool *pool; /* borrowed; NULL: the ring may always grow */
        uint32_t pool_max;          /* it grows while the pool stays within this */
        uint64_t emptied;           /* private: offset at which the ring was last empty */
};

void cay_sender_init(struct cay_sender *s, uint32_t window);
/*
 * Rings of several senders share a pool: this one grows only while all of them together have at most this
 * many bytes.
 */
void cay_sender_share(struct cay_sender *s, struct cay_ring_pool *pool, uint32_t max_bytes);
void cay_sender_done(struct cay_sender *s);
/* true: the next byte is accepted, if there is memory */
bool cay_sender_has_room(const struct cay_sender *s);
/*
 * Where to write next: up to two pieces of the free ring (count returned, 0 when full or no memory). A full
 * one grows here.
 */
int cay_sender_room(struct cay_sender *s, struct iovec ret[2]);
void cay_sender_wrote(struct cay_sender *s, size_t len);
size_t cay_sender_put(struct cay_sender *s, const void *bytes, size_t len); /* copies what fits */
/* The next unsent piece, at most max bytes, contiguous; 0 when there is none. */
size_t cay_sender_next(const struct cay_sender *s, size_t max, const uint8_t **ret, uint64_t *ret_offset);
void cay_sender_sent(struct cay_sender *s, size_t len);
/*
 * 0, or -EPROTO when beyond what was sent; an old one is ignored. Pieces returned before may be invalid
 * afterwards.
 */
int cay_sender_ack(struct cay_sender *s, uint64_t offset);
/* Sends again from here (and EOF again): 0, -ERANGE when outside acked…written. */
int cay_sender_resume(struct cay_sender *s, uint64_t offset);
bool cay_sender_is_finished(const struct cay_sender *s); /* eof and all sent */

struct cay_receiver {
        uint64_t got;   /* bytes received in order */
        uint64_t acked; /* bytes acknowledged: the sender may send up to acked + window */
        uint32_t window;
        uint64_t length; /* valid when eof */
        bool eof;
};

void cay_receiver_init(struct cay_receiver *r, uint32_t window);
/*
 * How many leading bytes of the piece to skip (already seen; at most len), or -EPROTO: gap, overrun, beyond
 * EOF.
 */
int64_t cay_receiver_data(struct cay_receiver *r, uint64_t offset, uint32_t len);
/* 0, or -EPROTO when bytes are missing or the length differs from an earlier EOF. */
int cay_receiver_eof(struct cay_receiver *r, uint64_t length);
/*
 * upto ≤ got. True when an ACK of upto (now in `acked`) is worth sending: a quarter of the window, or
 * everything received.
 */
bool cay_receiver_consumed(struct cay_receiver *r, uint64_t upto);
