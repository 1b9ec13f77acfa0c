/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kept layers: writable layers that outlive their box, so that a sandbox can be stopped and go on.
 *
 * Theory of operation. Each is an ext4 image, ID.img, in a folder that the daemon's keeper opened: 0600, never linked to, never named
 * by anything but an id of the strict form. A new one is a copy of a formatted, empty one of the same size (.base-…, made when it is
 * first wanted): the copy shares blocks or skips holes, so it costs a fraction of formatting. Ids in an image are those inside the
 * box (0 is its root), because every mount of it is shifted to the ids that its box has this time.
 *
 * Whoever mounts an image locks it first, on the descriptor that the loop device takes: the kernel lets go of the lock when
 * the last mount of it is gone, not when a process dies. So no image is ever mounted twice, also when a warden was
 * killed and what it left is still on its way out. Whatever dies, the kernel unmounts it in order; one that was mounted when the machine
 * itself stopped is checked and mended before the next mount, and so are small ones, which have no journal. On the disk it is when the host
 * has written it there: mounts of it send no barriers (each would hold up creates and destroys), so `stop` syncs the file. What cannot be mounted is refused with the reason; nothing is ever made anew under an id that had files.
 *
 * Damage. An image whose writes failed (the host's disk was full, or fails) holds other files than those that were acknowledged. The
 * kernel notes most of that in the image itself; what it does not, syncing tells at `stop`. Either way the image is renamed to
 * ID.damaged and never mounted again: it waits for whoever mends it, looks at it and gives it its name back. It goes with its sandbox.
 */
#pragma once

#include "foundation/base/error.h"
#include "links/helper/message.h"

#define KEEP_JOURNAL_FROM (16ull << 20) /* bytes of a layer; smaller ones have no room for a journal */

/*
 * The layer of an id, mounted detached, not shifted yet: the mount, or -1. go_on: one that is there, CAY_CONFLICT when it is not (sys is
 * ENOENT then; EUCLEAN: it is damaged) or cannot be mounted, CAY_UNAVAILABLE while it is still being let go. Else a new one: ret->made is set as soon as
 * there is a file, also when the rest fails.
 */
struct cay_keep_facts {
        bool made;   /* there is a file now that was not there before */
        bool mended; /* the machine had stopped while it was mounted, and not all of it made sense */
};

int cay_keep_mount(int dir, const char *id, bool go_on, uint64_t bytes, uint64_t inodes,
                   struct cay_keep_facts *ret, struct cay_error *err);
/* Whether an image of so many bytes can have so many inodes; CAY_INVALID says what to ask for. Also for images that are not kept. */
int cay_keep_check_inodes(uint64_t bytes, uint64_t inodes, struct cay_error *err);
/* Removes it; one that is not there is fine. 0 or -errno. Blocks of one that is mounted go with its last mount. */
int cay_keep_drop(int dir, const char *id);
/*
 * Waits until what is in it is on the disk, and looks whether all of it got there: 0, -EUCLEAN: it is damaged, or another -errno. fs: any
 * descriptor in its last mount, closed here; -1: it is not mounted any more. For a helper: disks are slow.
 */
int cay_keep_write_out(int dir, const char *id, int fs);
/* Blocks kept back in the folder, for what is still on its way into layers when the disk is full: taken, or given up. 0 or -errno. */
#define KEEP_RESERVE (16ull << 20)
int cay_keep_reserve(int dir, bool take);
/* How long it is, and how much of that the disk already has. 0 or -errno. */
int cay_keep_measure(int dir, const char *id, uint64_t *ret_bytes, uint64_t *ret_had);
/* It is damaged: gives it the name that says so. */
int cay_keep_set_aside(int dir, const char *id);
/* Some of the ids that have layers, from a place on (0: all); ret->layers is filled. 0 or -errno. */
int cay_keep_list(int dir, uint64_t from, struct wire_answer *ret);
