/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of one exec, numbered: a ring that keeps the last bytes of all its streams in the order they
 * came, and any number of watchers that read it at their own pace. Pure: the writer asks for room and is
 * notified when there is some.
 *
 * Theory of operation. Offsets count bytes of all streams together since the exec began; they never repeat,
 * so a watcher that reconnects continues from its offset. The ring holds [oldest, end). A strict watcher's
 * position is a low-water mark: what it has not consumed is never overwritten, and the writer gets less room
 * instead (and so, through the box link's window, the command itself waits). Other watchers are overtaken:
 * the next peek starts at the oldest byte that is left and says how many were missed. Which stream a byte
 * belongs to is kept in a second ring of runs; when that one is full (streams that alternate in tiny pieces)
 * the oldest run is dropped, or the writer waits, by the same rule. Rejected: a ring per stream, which loses
 * the order between stdout and stderr that people and agents read.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stddef.h>

struct cay_output_run { /* consecutive bytes of one stream */
        uint64_t start;
        unsigned stream;
};

struct cay_output_watcher { /* embedded by its owner */
        uint64_t at;        /* next byte to read */
        bool strict;
        struct cay_output_watcher *next;
};

struct cay_output {
        uint8_t *ring;               /* owned */
        struct cay_output_run *runs; /* owned; ring of run_cap */
        size_t size;
        unsigned run_cap, run_first, run_count;
        uint64_t oldest, end;
        bool complete;                       /* nothing more will be put */
        struct cay_output_watcher *watchers; /* borrowed */
};

int cay_output_init(struct cay_output *o, size_t size); /* 0 or -ENOMEM; all memory there will ever be */
void cay_output_done(struct cay_output *o);             /* safe on a zeroed struct */

/* what put would accept now for a stream that continues */
size_t cay_output_room(const struct cay_output *o);
/* Accepts what there is room for and returns how much. */
size_t cay_output_put(struct cay_output *o, unsigned stream, const void *bytes, size_t len);
void cay_output_complete(struct cay_output *o);

/*
 * Starts at an offset: bytes that are already overwritten count as missed; an offset beyond the end starts at
 * the end.
 */
void cay_output_watch(struct cay_output *o, struct cay_output_watcher *w, uint64_t from, bool strict);
/* allowed when it does not watch */
void cay_output_unwatch(struct cay_output *o, struct cay_output_watcher *w);
/*
 * The next piece, contiguous and of one stream: its length (0: nothing now). *ret_missed: bytes lost before
 * it, reported once.
 */
size_t cay_output_peek(struct cay_output *o, struct cay_output_watcher *w, unsigned *ret_stream,
                       const uint8_t **ret, uint64_t *ret_missed);
void cay_output_consume(struct cay_output_watcher *w, size_t len); /* at most what was peeked */
bool cay_output_is_read(const struct cay_output *o,
                        const struct cay_output_watcher *w); /* complete, and all read */
