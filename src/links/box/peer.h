/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One end of a box link on one byte stream: collects frames, checks headers, sends with back-pressure. Used by cay-init
 * and by the front alike. Knows nothing of channels. The owner embeds it, zeroed, and sets the three callbacks.
 * Any of them may close the peer, open it again on another stream, or free the object that it is part of.
 */
#pragma once

#include "foundation/base/buf.h"
#include "links/box/frame.h"
#include "foundation/loop/loop.h"

struct cay_peer {
        struct cay_watch watch;
        struct cay_buf in, out;   /* bounded: one frame and one read; 512 KiB */
        enum cay_frame_side from; /* the other side */
        bool lost,
                reading_paused; /* paused: out is full of answers, ask for no more questions (init's end only) */
        /* 0, or -EPROTO to end the link; payload is borrowed for the call and gone once the peer is closed. */
        int (*on_frame)(struct cay_peer *p, const struct cay_frame *f, const uint8_t *payload);
        void (*on_room)(struct cay_peer *p); /* there was no room for DATA or a send had -ENOSPC: send on */
        /* 0: end of stream; -errno. Called once, descriptor still open, after all that could be read was handled. */
        void (*on_lost)(struct cay_peer *p, int reason);

        /* below: private to peer.c */
        bool is_open, is_plain, short_of_room;
        int fd, write_error;
        unsigned corked;
        size_t chunk; /* bytes to ask for in one read */
        bool *gone;   /* set when the peer is closed inside a callback */
};

/* Takes the descriptor (non-blocking is set here). from: the side that is at the other end. 0 or -errno (fd closed). */
int cay_peer_open_take(struct cay_loop *loop, struct cay_peer *p, int fd, enum cay_frame_side from);
void cay_peer_close(struct cay_peer *p); /* closes the descriptor, drops buffers; fine when not open */
bool cay_peer_is_open(const struct cay_peer *p);
/* True while DATA may be sent; control frames may always be sent (the buffer has a reserve for them). */
bool cay_peer_has_room(const struct cay_peer *p);
/*
 * 0: sent or queued, whole. -ENOSPC: nothing of it was, on_room tells when to try again. -EPIPE when lost. Never calls
 * back. DATA is refused when there is no room; of the rest only what overflows the reserve, which holds the answers to
 * every frame that was read: what an owner sends out of its own (END, OPEN) must cope with -ENOSPC.
 */
int cay_peer_send(struct cay_peer *p, unsigned type, uint32_t channel, unsigned stream, uint64_t seq,
                  const void *payload, size_t len);
bool cay_peer_is_flushed(const struct cay_peer *p);
/* Bytes, or its end, lie in the stream and have not been read yet: on_frame or on_lost follow, from the loop. */
bool cay_peer_has_unread(const struct cay_peer *p);
/*
 * Handles all that lies in the stream now, as rounds of the loop would; on_frame and on_lost are called from inside, so not to be used
 * in one of them. For an owner who is about to close a peer whose other end has gone: what was said before that counts.
 */
void cay_peer_read_out(struct cay_peer *p);
/* Between the two small frames are collected and leave in one write. Inside on_frame that is so by itself. */
void cay_peer_cork(struct cay_peer *p);
void cay_peer_uncork(struct cay_peer *p);
