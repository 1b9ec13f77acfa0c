/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a short disk a locked layer pool has (room_pool.h).
 *
 * The pool needs what layers share, and a little for its own tables. It gets half of what is left beside that
 * and the disk's margin, because layers write other blocks too. It never takes all that is left, unless it
 * needs that: with nothing above the margin, the next file that the daemon or anybody writes makes the disk
 * "nearly full" for the front, which then refuses what the pool has room for.
 *
 * What is free in the pool stays there until it is much too much, so that blocks do not go to and fro. If the
 * disk is below its margin, it gets what the pool has in excess, but layers keep some for what they write.
 */
#pragma once

#include <stdint.h>

#define WARDEN_POOL_SLACK (16ull << 20)  /* that the pool's own tables may take */
#define WARDEN_POOL_SPARE (64ull << 20)  /* for what layers write beside shared blocks, if there is so much */
#define WARDEN_POOL_BESIDE (16ull << 20) /* above the margin, for what others write */

/* Bytes: that the pool is to have free, and on no account fewer than the least; that the disk keeps. */
struct warden_pool_wish {
        uint64_t wanted, least, margin;
};

/* all: what the disk has left for users, with what is kept back of it for the pool. */
struct warden_pool_wish warden_pool_wish(uint64_t shared, uint64_t all, uint64_t margin);
/*
 * What the pool is to have free, as far as the disk has it; has: now. Less than the least: it cannot be
 * locked.
 */
uint64_t warden_pool_wish_take(const struct warden_pool_wish *wish, uint64_t has, uint64_t avail);
/* What a locked pool is to have free from now on; `has`: no change is worth its work. */
uint64_t warden_pool_wish_change(const struct warden_pool_wish *wish, uint64_t has, uint64_t avail);
