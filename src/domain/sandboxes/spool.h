/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The output of one command in a file, so that it outlives this process: a ring of bytes of both streams in the order they came,
 * under one cursor that counts bytes since the start.
 *
 * Theory of operation. The file is a header page, a ring of runs (8 bytes each: where a stretch of one stream starts) and a ring of
 * bytes. What is valid is said by the header alone, which is mapped and has two slots and a word that names the one that
 * counts: a put writes bytes and run behind what is valid, then the other slot, then the word. So a process that is killed at any
 * instruction leaves the state before the put or the one after it, and since the counts per stream are in the same slot, whoever opens the
 * file next knows exactly what to ask the box for. Bytes and runs are written with pwrite, never through a mapping: a full disk is
 * then an error and no signal.
 *
 * Damage. A machine that stops, a disk that fails or somebody's editor may leave a file that is cut, or has zeros or other bytes in
 * it. So slots, runs and the end's record carry a checksum each, and so does every block of CAY_SPOOL_BLOCK bytes of output (a ring of sums beside
 * the ring of bytes; the sum of the last block, which still grows, is in the slot). Each sum begins with the number of what it
 * belongs to: what was there one turn of the ring before is no less wrong than garbage. A read checks the whole blocks that it
 * touches and gives nothing of a bad one; cay_spool_skip says where what is whole begins again. A run that is bad loses the bytes
 * from it to the next good one, since nobody knows their stream. Writing goes on in either case.
 *
 * Room. `keep` bytes and CAY_SPOOL_RUNS_KEEP runs stay readable; older ones go, but never past the wall, which is the position of the
 * slowest reader that must not lose anything. A writer that is not held back (cay_spool_has_room) may always put one window of each
 * stream more, in pieces as small as they like: the rings are that much larger than what is kept. It must not put beyond, or
 * is refused until the wall has moved.
 * No byte that is valid is ever overwritten before the header has let go of it, for the same reason.
 *
 * Rejected: one file per stream (the order between them is what people read); records in line with the bytes (a cursor that a client
 * makes up could then point into a record's head); dropping on a full disk (the put fails, the writer waits).
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
/*
 * An existing one, as it was left. 0, -ENOENT, -EBADMSG (damaged beyond use), -EPROTONOSUPPORT (written by an older Cay), -errno. What is
 * damaged further inside is told by reads.
 */
int cay_spool_open(struct cay_spool *sp, int dir, const char *name);
void cay_spool_close(struct cay_spool *sp); /* fine when closed */

/*
 * Bytes of a stream (0 out, 1 err) at the end. wall: the lowest cursor that must stay (UINT64_MAX: none). 0: written and valid.
 * -ENOSPC, -EIO…: nothing was put. -ENOBUFS: the writer did not hold back, and the wall is where it was.
 */
int cay_spool_put(struct cay_spool *sp, unsigned stream, const void *bytes, size_t len, uint64_t wall);
/* May the writer be let on: with one window of each stream still to come nothing before the wall is lost. */
bool cay_spool_has_room(const struct cay_spool *sp, uint64_t wall);

/*
 * Up to size bytes of one stream from place->at (which is moved): how many, 0 at the end, -ERANGE before the oldest,
 * -EBADMSG when what is there is not what was put.
 */
ssize_t cay_spool_read(struct cay_spool *sp, struct cay_spool_place *place, void *buf, size_t size,
                       unsigned *ret_stream);
/* From a cursor at which a read found damage: the next at which there is something whole, or the end. */
uint64_t cay_spool_skip(struct cay_spool *sp, uint64_t at);

/* How the command ended, as the caller encodes it: once. -EMSGSIZE, -EEXIST. */
int cay_spool_set_end(struct cay_spool *sp, const void *bytes, size_t len);
/* Length, 0 while there is none or when it is damaged; points into the mapping. */
size_t cay_spool_get_end(const struct cay_spool *sp, const void **ret);
/* How much input was taken for the command, by all fronts together: what the box has not got of it is lost with its front. */
void cay_spool_set_in_taken(struct cay_spool *sp, uint64_t bytes);
uint64_t cay_spool_get_in_taken(const struct cay_spool *sp);
/* The command's input was ended: a later front must not send more. */
void cay_spool_set_in_closed(struct cay_spool *sp);
bool cay_spool_is_in_closed(const struct cay_spool *sp);
