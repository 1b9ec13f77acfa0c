/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layer pool (cay/keeper/layer_pool.h) while the disk below it is short.
 *
 * Theory of operation. The pool is a sparse file: what it promises to layers the disk may not have. For
 * blocks that layers share, the pool needs new ones whenever a box overwrites them, and room_shared.h keeps
 * as much back. On a pool it does so by locking it. A locked pool can always write what it has free:
 *
 * - blocks that are freed in it are not given back to the disk,
 * - a file in it, the ballast, has all that the disk has no blocks for, so nobody else gets those,
 * - everything else has blocks of the disk: what is used, and what is free (sys/xfs_pool.h). That is told by
 *   the ballast's place, which nobody changes meanwhile: lists of used and of free blocks, made one after the
 *   other, miss what is allocated in between and written later (it was so).
 *
 * So what others do with the disk from then on, and how fast boxes overwrite, does not matter. The ballast
 * shrinks when more is needed and the disk has it (how much: room_pool_wish.h), and grows, and gives its
 * blocks back, when layers have freed much. When the disk has room again, or nothing is shared, the pool is
 * unlocked: no ballast, and what is free is given back. While it is not locked, what was freed is given back
 * whenever it is much, at most once a second: much is less while the disk is short.
 *
 * A helper does each of these, because file systems take their time. Looks at the room (room.c) begin it and
 * find its end. A warden that dies leaves the pool locked; the next one finds the ballast and unlocks it.
 * Where it cannot be done (the kernel cannot list free blocks), blocks are kept back as without a pool.
 *
 * Not chosen. Releasing blocks that a file beside the pool keeps back, in steps, as the pool needs them:
 * whoever asks first gets them, and a box that overwrites faster than the steps is damaged (it was so).
 * Unsharing the blocks of all live layers (writes as much as is shared, whenever the disk gets short). A pool
 * that is never sparse. Giving back at each commit (mount option discard): see sys/xfs_pool.h.
 */
#pragma once

#include "cay-warden/warden.h"

/* At the start: whether layers are in a pool; one that a dead warden left locked is unlocked. */
void warden_pool_begin(struct warden *w);
/*
 * At each look. shared: what live layers share; avail: what the disk has left for users. true: it is being
 * changed.
 */
bool warden_pool_mind(struct warden *w, uint64_t shared, uint64_t avail, uint64_t margin);
/* Files in it are written or removed: it is looked at for a while. */
void warden_pool_expect(struct warden *w);
/* Whether it is to be looked at although there are no layers. */
bool warden_pool_is_busy(const struct warden *w);
/* What it can write whatever happens; 0 while it is not locked. */
uint64_t warden_pool_room(const struct warden *w);
