/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Room on the host's disk for the layers of boxes, and the health of the file systems in them.
 *
 * Theory of operation. Layers are sparse: together they may promise more than the disk has. A file system on
 * a full disk loses acknowledged data, so this must never happen. A few times a second the warden compares
 * what all layers may still take with what the disk has above a margin. While all of it fits, nothing is
 * done. When it does not, each file system must reserve (ext4's reserved_clusters) what exceeds its share of
 * the room. Then a write inside fails with ENOSPC immediately, however fast the box writes between two
 * checks. Shares: one half of the room is divided among all, the other among those that grew since the last
 * look. The sum of what may be written never exceeds the room, with what is still on its way (delayed
 * allocation) and a part for the file system's own tables counted in. The margin covers what others write to
 * the disk. If they use all of it at once, the warden releases a few reserved blocks for data in transit to
 * layers, so that these can be unmounted intact.
 *
 * What a box may write is its free blocks minus those held back. Blocks that were freed inside are given back
 * to the host's disk when their transaction is committed (the mounts discard). Blocks of the layer that the
 * disk already has are counted as if they had to be had again: too little, never too much. One thing is not
 * exact: what a box removes between two looks it may write again before the next, and for that moment the
 * disk has both. The margin covers that, too, and looks are more frequent while room is short.
 *
 * New images. Where there are many, each look leaves a quarter of the room for images that are mounted before
 * the next one: such an image gets a part of that at once, and the others are not looked at for it. So the
 * time that a box takes does not grow with their number. Where too little is left, or blocks are shared, all
 * are looked at in the next round, as they are where there are few.
 *
 * Volumes (volume.h) are images too: each that is mounted counts like a layer. Blocks that layers share with
 * copies are a second matter: room_shared.h. While layers are in a locked pool, its free blocks are the room:
 * room_pool.h.
 *
 * An error that the kernel meets in a layer (the disk failed after all) ends its box immediately: later
 * writes would be lost.
 *
 * Not chosen. Blocks allocated ahead (a sandbox would cost all of its disk from the start). Remounting
 * read-only (waits for all that is dirty, and lets through what is written until the next look). Freezing
 * (the reason is not reported).
 */
#pragma once

#include "cay-warden/warden.h"

#define WARDEN_LEAST_MARGIN (16ull << 20) /* where the settings want none */

/* The file system of a kept box that is made, or of a volume, is mounted there. */
void warden_room_note_layer(struct warden *w, struct warden_box *box, int mount);
void warden_room_note_volume(struct warden *w, struct warden_volume *v, int mount);
void warden_room_note_live(struct warden *w, const struct warden_box *box);
void warden_room_soon(struct warden *w); /* something has changed: checks in the next round */
/*
 * What live layers, without that of `but` (NULL: of all), may overwrite, as far as nothing is kept back for
 * it.
 */
uint64_t warden_room_promised(const struct warden *w, const struct warden_box *but);
/*
 * In a pool that is or is being locked (room_pool.h): what a copy of a live layer, that of `but`, may share.
 */
uint64_t warden_room_for_copy(const struct warden *w, const struct warden_box *but);
/* Whether the disk has room for what a new box's layer shares; else the box must not be made. */
int warden_room_check(struct warden *w, const struct warden_box *box, struct cay_error *err);
int warden_room_wait(const struct warden *w); /* milliseconds to the next check; -1: none is due */
void warden_room_look(struct warden *w);      /* if it is time */
