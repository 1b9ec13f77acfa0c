/* SPDX-License-Identifier: Apache-2.0 */
/* Reserved disk space, so that things can be removed when the disk is full. Used by the writer only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CAY_RESERVE_BYTES (1024 * 1024)
#define CAY_RESERVE_LOG_BYTES (8 * 1024 * 1024) /* the size to which db.c shrinks the log */

struct cay_reserve {
        int fd; /* owned; -1: none */
        bool is_held;
        uint64_t tried_ms; /* monotonic: the last attempt to allocate it */
};

void cay_reserve_open(struct cay_reserve *r, int dirfd, const char *name);
void cay_reserve_close(struct cay_reserve *r);
void cay_reserve_take(struct cay_reserve *r,
                      uint64_t mono_ms); /* called now and then; a full disk is no error */
/*
 * Allocates blocks for the log beyond its end, so that a commit needs none. On a full disk, freed blocks may
 * go to root's reserved share and be lost to us; allocated blocks stay ours. A full disk is no error.
 */
void cay_reserve_log(int dirfd, const char *name);
/*
 * For the log of a closed database that contains all of it. The log keeps its blocks, so that a daemon can
 * start on a full disk. Its content is invalidated, so that it is never applied to another database put in
 * this one's place.
 */
void cay_reserve_empty_log(int dirfd, const char *name);
bool cay_reserve_is_empty_log(int dirfd, const char *name);
bool cay_reserve_give(struct cay_reserve *r); /* true: more room than before */
