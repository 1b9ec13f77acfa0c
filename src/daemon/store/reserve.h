/* SPDX-License-Identifier: Apache-2.0 */
/* Disk space kept back, so that things can still be removed when the disk is full. The writer's alone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CAY_RESERVE_BYTES (1024 * 1024)
#define CAY_RESERVE_LOG_BYTES (8 * 1024 * 1024) /* as large as the log is kept, db.c */

struct cay_reserve {
        int fd; /* owned; -1: none */
        bool is_held;
        uint64_t tried_ms; /* monotonic: the last attempt to take it */
};

void cay_reserve_open(struct cay_reserve *r, int dirfd, const char *name);
void cay_reserve_close(struct cay_reserve *r);
void cay_reserve_take(struct cay_reserve *r, uint64_t mono_ms); /* now and then; no room is no failure */
/*
 * Blocks for the log ahead of what is written to it, behind its end: a commit then needs none. What is freed on a full disk is not ours to
 * use where the disk keeps a part of itself for root and root has used that; blocks that a file has already are. No room is no failure.
 */
void cay_reserve_log(int dirfd, const char *name);
/*
 * The log of a database that nobody has open and that holds all of it: it stays, with its blocks, so that a daemon can be started when there
 * is not one left; but says nothing any more, so that it is never taken for that of another database which is put in the place of this one.
 */
void cay_reserve_empty_log(int dirfd, const char *name);
bool cay_reserve_is_empty_log(int dirfd, const char *name);
bool cay_reserve_give(struct cay_reserve *r); /* true: there is more room now than before */
