/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A copy of a kept layer, as another layer. For a helper process: it waits for disks.
 *
 * Theory of operation. A layer that no box has is locked (shared) while it is copied. One that a box has is
 * copied while the box is frozen by its cgroup: everything in it stands still, what it wrote is written out
 * to its image, the image is cloned, the box goes on. Not FIFREEZE: whoever dies in between would leave a
 * file system whose writers cannot even be killed; a frozen cgroup dies with its warden. Where the file
 * system shares blocks the clone takes milliseconds, whatever its size. Elsewhere used blocks are copied, and
 * the box stands still for that long.
 *
 * The copy of a mounted image has a journal that is not empty. It is mounted once and released, so that the
 * kernel replays the journal now, and not in every box that is made of it. Nothing here reads what is in a
 * layer.
 *
 * The copy has a name of its own (.clone-ID) until it is complete, so that an incomplete one is never taken
 * for a layer; the next warden removes it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "links/helper/message.h"

struct cay_keep_clone {
        const char *from, *to;
        unsigned flags; /* enum wire_clone_flags */
        /* a descriptor in the box's layer; -1: no box has it. Closed when it is not needed any more */
        int fs;
        int cgroup;        /* of that box (cgroup2), if it is to be frozen; -1: it stands still already */
        int disk;          /* a folder on the disk that has the layers in the end (room.h) */
        uint64_t margin;   /* bytes that the disk is to keep free */
        uint64_t promised; /* and those that other live layers may have to find again (room_shared.h) */
        bool has_room;     /* `room` says it, whatever the disk has (room_pool.h) */
        uint64_t room;     /* bytes that a copy of a live layer may share */
};

struct cay_keep_cloned {
        bool is_shared;
        uint64_t bytes, added, frozen_us;
};

/*
 * 0, or -errno: -ENOENT (no such layer), -EUCLEAN (it is damaged), -EBUSY (it is still mounted, or `to` is),
 * -EEXIST (`to` is there), -ENOSPC, -ETIME (the box does not stand still).
 */
int cay_keep_clone(int dir, const struct cay_keep_clone *c, struct cay_keep_cloned *ret);
/* Removes what an interrupted one left. */
void cay_keep_clone_undo(int dir, const char *to);
/* The same, of all: no clone is under way. */
void cay_keep_clone_sweep(int dir);
