/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One end of a box link on one byte stream: collects frames, checks headers, sends with back-pressure. Used
 * by cay-init and by the front alike. Knows nothing of channels. The owner embeds it, zeroed, and sets the
 * three callbacks. Any of them may close the peer, open it again on another stream, or free the object that
 * it is part of.
 */
#pragma once

#include "foundation/base/buf.h"
#include "links/box/frame.h"
#include "foundation/loop/loop.h"

struct cay_peer {
        struct cay_watch watch;
        struct cay_buf in, out;   /* bounded: one frame and one read; 512 KiB */
        enum cay_frame_side from; /* the other side */
        /* paused: out is full of answers, so accept no more requests (init's end only) */
        bool lost, reading_paused;
        /*
         * 0, or -EPROTO to end the link. The payload is borrowed for the call and freed once the peer is
         * closed.
         */
        int (*on_frame)(struct cay_peer *p, const struct cay_frame *f, const uint8_t *payload);
        /* room again after DATA was refused or a send returned -ENOSPC: continue */
        void (*on_room)(struct cay_peer *p);
        /*
         * 0: end of stream; else -errno. Called once, with the descriptor still open, after all readable data
         * was handled.
         */
        void (*on_lost)(struct cay_peer *p, int reason);

        /* below: private to peer.c */
        bool is_open, is_plain, short_of_room;
        int fd, write_error;
        unsigned corked;
        size_t chunk; /* bytes to ask for in one read */
        bool *gone;   /* set when the peer is closed inside a callback */
};

/* Takes the descriptor and sets it non-blocking. from: the side at the other end. 0 or -errno (fd closed). */
int cay_peer_open_take(struct cay_loop *loop, struct cay_peer *p, int fd, enum cay_frame_side from);
void cay_peer_close(struct cay_peer *p); /* closes the descriptor, frees buffers; allowed when not open */
bool cay_peer_is_open(const struct cay_peer *p);
/* True while DATA may be sent; control frames may always be sent (the buffer has a reserve for them). */
bool cay_peer_has_room(const struct cay_peer *p);
/*
 * 0: the whole frame was sent or queued. -ENOSPC: none of it was; on_room says when to retry. -EPIPE when
 * lost. Never calls back. DATA is refused when there is no room. Other frames are refused only when the
 * reserve overflows. The reserve holds the answers to every frame that was read, so only unsolicited frames
 * of an owner (END, OPEN) must handle -ENOSPC.
 */
int cay_peer_send(struct cay_peer *p, unsigned type, uint32_t channel, unsigned stream, uint64_t seq,
                  const void *payload, size_t len);
bool cay_peer_is_flushed(const struct cay_peer *p);
/* True: unread bytes, or the end of the stream, are pending. on_frame or on_lost follow from the loop. */
bool cay_peer_has_unread(const struct cay_peer *p);
/*
 * Handles everything that is in the stream now, as rounds of the loop would. It calls on_frame and on_lost,
 * so it must not be used in them. Use it before closing a peer whose other end has exited: what was sent
 * before counts.
 */
void cay_peer_read_out(struct cay_peer *p);
/*
 * Between these two calls small frames are collected and sent in one write. Inside on_frame this is
 * automatic.
 */
void cay_peer_cork(struct cay_peer *p);
void cay_peer_uncork(struct cay_peer *p);
