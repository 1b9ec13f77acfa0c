/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks that images share with others (reflink), and the host's disk.
 *
 * Theory of operation. A snapshot, a fork or a step shares the blocks of the layer that it was made of. When
 * a box overwrites such a block in place, the host's disk has to find a new one. The file system in the
 * image does not know: for it the block is in use already, so it cannot hold back anything (room.h). Such a
 * write must therefore never meet a full disk. All that live layers share is counted, and
 *
 * - layers may take new blocks only of what is left after that (room.c),
 * - a copy of a live layer is refused when the disk has no room for all of it again, as is the start of a box
 *   whose layer shares more than fits: then nothing has changed, and the caller is told,
 * - when the disk gets short, blocks are kept back for it, so that others on the host cannot take them: in
 *   the layer pool, if layers are in one (room_pool.h), else in a file of our own, which releases them as
 *   they are needed.
 *
 * Layers without a box are never written, so they need nothing. How much a layer shares is read from its
 * extents when it is mounted. After a copy all of it counts. It is read again while room is short: blocks
 * that were overwritten are not shared any more. Between two readings the figure is too high, never too low.
 * Volumes are never copied, and what they share with the formatted image that they began with is less than
 * the margin.
 *
 * Not chosen. Blocks kept back always (20 forks of one gigabyte would take 20 from everybody, although few
 * overwrite much). Counting at each write (needs a hook in the kernel).
 */
#pragma once

#include "cay-warden/warden.h"

/* At start-up: whether files of the layers' folder can share blocks. */
bool warden_shared_can(int layers);
/* Reads what the box's layer shares. Of a box whose layer is mounted. */
void warden_shared_read(struct warden *w, struct warden_box *box);
/* One layer whose figure is old, if there is one. */
void warden_shared_read_next(struct warden *w);
/* Its layer is about to be copied: all of it may be shared from now on. */
void warden_shared_note_copy(struct warden *w, struct warden_box *box);
/*
 * Blocks kept back so that `shared` bytes can be overwritten, while `avail`, what the disk has left for
 * users, is short. margin: bytes that nobody may use.
 */
void warden_shared_keep_back(struct warden *w, uint64_t shared, uint64_t avail, uint64_t margin);
/* Bytes of those blocks that are for overwriting alone. */
uint64_t warden_shared_kept(const struct warden *w);
