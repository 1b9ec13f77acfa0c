/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of one command in a file, so that it outlives this process: a ring of bytes of both streams in
 * order of arrival, under one cursor that counts bytes since the start.
 *
 * Theory of operation. The file is a header page, a ring of runs (8 bytes each: where a stretch of one stream
 * starts) and a ring of bytes. Only the header says what is valid. It is mapped and has two slots and a word
 * that names the valid one. A put writes bytes and run after the valid ones, then the other slot, then the
 * word. So a process killed at any instruction leaves the state before or after the put. The counts per
 * stream are in the same slot, so whoever opens the file next knows exactly what to request from the box.
 * Bytes and runs are written with pwrite, not through a mapping: a full disk is then an error and not a
 * signal.
 *
 * Damage. A crash of the machine, a failing disk or an editor may truncate the file or change bytes. So
 * slots, runs and the end's record have a checksum each, and so does every block of CAY_SPOOL_BLOCK bytes of
 * output (in a ring of checksums; that of the last, growing block is in the slot). Each checksum also covers
 * the number of its item, so that data of the previous turn of the ring is not accepted. A read checks whole
 * blocks and returns nothing of a damaged one; cay_spool_skip says where intact data begins again. A damaged
 * run loses the bytes up to the next intact one, because their stream is unknown. Writing continues in either
 * case.
 *
 * Space. `keep` bytes and CAY_SPOOL_RUNS_KEEP runs stay readable. Older ones are dropped, but never beyond
 * the low-water mark, which is the position of the slowest reader that must not lose anything. A writer that
 * is not held back (cay_spool_has_room) may always put one window of each stream more, in pieces of any size:
 * the rings are larger by that much. A put beyond that is refused until the mark has moved. A valid byte is
 * never overwritten before the header has released it.
 *
 * Rejected: one file per stream (readers want the order between them); records between the bytes (an invented
 * cursor could then point into a record's head); dropping on a full disk (instead the put fails and the
 * writer waits).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "foundation/base/banned.h"
#include "foundation/base/cleanup.h"

#define CAY_SPOOL_STREAMS 2
#define CAY_SPOOL_BLOCK 4096u              /* bytes that share a checksum */
#define CAY_SPOOL_PIECE_MAX (64u * 1024)   /* of one put */
#define CAY_SPOOL_RUNS_KEEP (64u * 1024)   /* runs that stay readable */
#define CAY_SPOOL_END_MAX 2048             /* bytes of the end's record */
#define CAY_SPOOL_KEEP_MAX (1024ull << 20) /* of `keep` and of the window */

struct cay_spool_header; /* the mapped page */

struct cay_spool {
        int fd;                        /* owned; -1: closed */
        struct cay_spool_header *head; /* owned mapping */
        uint64_t end, oldest;          /* cursors: [oldest, end) can be read */
        uint64_t got[CAY_SPOOL_STREAMS];
        uint64_t keep, slack;        /* slack: what may come although the writer is held back */
        uint64_t run_first, run_end; /* runs [first, end), counted since the start */
        uint64_t second;             /* start of run_first + 1; UINT64_MAX: there is none */
        unsigned stream;             /* of the last run; CAY_SPOOL_STREAMS: it is damaged */
        uint64_t last;               /* start of the last run, where most readers are */
        uint32_t tail_sum;           /* of the block that `end` is in, up to there */
};

struct cay_spool_place { /* where a reader is; zeroed to begin with */
        uint64_t at;     /* cursor */
        uint64_t run;    /* a guess that saves a search */
};

#define CAY_SPOOL_CLOSED ((struct cay_spool){ .fd = -1 })

/* A new file; the window is that of each stream. 0, -EEXIST, -ENOSPC, -errno. */
int cay_spool_create(struct cay_spool *sp, int dir, const char *name, uint64_t keep, uint64_t window);
/* The same in a file that is there and has one page of zeros. */
int cay_spool_reuse(struct cay_spool *sp, int dir, const char *name, uint64_t keep, uint64_t window);
/*
 * Opens an existing one. 0, -ENOENT, -EBADMSG (unusable), -EPROTONOSUPPORT (written by an older Cay), -errno.
 * Damage further inside is found by reads.
 */
int cay_spool_open(struct cay_spool *sp, int dir, const char *name);
void cay_spool_close(struct cay_spool *sp); /* may be called on a closed one */

/*
 * Appends bytes of a stream (0 out, 1 err). low: the low-water mark, the lowest cursor that must stay
 * (UINT64_MAX: none). 0: written and valid. -ENOSPC, -EIO…: nothing was put. -ENOBUFS: the writer did not
 * hold back, and the mark has not moved.
 */
int cay_spool_put(struct cay_spool *sp, unsigned stream, const void *bytes, size_t len, uint64_t low);
/*
 * Whether the writer may continue: with one window of each stream still to come, nothing above the mark is
 * lost.
 */
bool cay_spool_has_room(const struct cay_spool *sp, uint64_t low);

/*
 * Reads up to size bytes of one stream from place->at, and moves it. Returns how many, 0 at the end, -ERANGE
 * before the oldest, -EBADMSG if the data is damaged.
 */
ssize_t cay_spool_read(struct cay_spool *sp, struct cay_spool_place *place, void *buf, size_t size,
                       unsigned *ret_stream);
/* From a cursor at which a read found damage: the next cursor with intact data, or the end. */
uint64_t cay_spool_skip(struct cay_spool *sp, uint64_t at);

/* Records how the command ended, as the caller encodes it; once. -EMSGSIZE, -EEXIST. */
int cay_spool_set_end(struct cay_spool *sp, const void *bytes, size_t len);
/* Its length; 0: none, or damaged; points into the mapping. */
size_t cay_spool_get_end(const struct cay_spool *sp, const void **ret);
/*
 * How much input was taken for the command, by all fronts together: what the box has not received is lost
 * with its front.
 */
void cay_spool_set_in_taken(struct cay_spool *sp, uint64_t bytes);
uint64_t cay_spool_get_in_taken(const struct cay_spool *sp);
/* The command's input has ended: a later front must not send more. */
void cay_spool_set_in_closed(struct cay_spool *sp);
bool cay_spool_is_in_closed(const struct cay_spool *sp);
