/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kept layers: writable layers that outlive their box, so that a sandbox can be stopped and resumed.
 *
 * Theory of operation. Each is an ext4 image, ID.img, in a folder that the daemon's keeper opened: 0600,
 * never linked to, never named by anything but an id of the strict form. A new one is a copy of a formatted,
 * empty one of the same size (.base-…, made when it is first wanted): the copy shares blocks or skips holes,
 * so it costs a fraction of formatting. Ids in an image are those inside the box (0 is its root), because
 * every mount of it is shifted to the ids that its box has this time.
 *
 * An image is locked before it is mounted, on the descriptor that the loop device takes: the kernel releases
 * the lock when the last mount is gone, not when a process dies. So no image is ever mounted twice, even when
 * a warden was killed and its mounts are still being released. Whatever dies, the kernel unmounts it in
 * order; one that was mounted when the machine itself stopped is checked and repaired before the next mount,
 * and so are small ones, which have no journal. Mounts send no barriers (each would delay creates and
 * destroys), so `stop` syncs the file to disk. What cannot be mounted is refused with the reason; an id that
 * had files never gets a new, empty image.
 *
 * Damage. An image whose writes failed (the host's disk was full, or fails) does not hold what was
 * acknowledged. The kernel records most of that in the image itself; syncing reports the rest at `stop`.
 * Either way the image is renamed to ID.damaged and never mounted again, until an administrator repairs it,
 * checks it and restores its name. It is removed with its sandbox.
 */
#pragma once

#include "foundation/base/error.h"
#include "links/helper/message.h"

#define KEEP_JOURNAL_FROM (16ull << 20) /* bytes of a layer; smaller ones have no room for a journal */

/*
 * The layer of an id, mounted detached, not shifted yet: the mount, or -1. go_on: an existing one,
 * CAY_CONFLICT when it does not exist (sys is ENOENT then; EUCLEAN: it is damaged) or cannot be mounted,
 * CAY_UNAVAILABLE while it is still being released. Else a new one: ret->made is set as soon as there is a
 * file, even if the rest fails.
 */
struct cay_keep_facts {
        bool made;   /* a new file was made */
        bool mended; /* the machine had stopped while it was mounted, and repairs were needed */
};

int cay_keep_mount(int dir, const char *id, bool go_on, uint64_t bytes, uint64_t inodes,
                   struct cay_keep_facts *ret, struct cay_error *err);
/*
 * The parts of it, for images that are not layers. new_file: a formatted one under this name, which must be
 * free (-EEXIST), as a copy of one in `bases`. lock: waits at most so long for an image that somebody has
 * mounted (-EBUSY).
 */
int cay_keep_new_file(int bases, int dir, const char *name, uint64_t bytes, uint64_t inodes);
int cay_keep_lock(int file, unsigned wait_ms);
/*
 * Names of a folder without a heap, from a place on (0: all). each: `next` is the place behind this name;
 * false ends it, before this one counts as reported. 0 or -errno.
 */
typedef bool cay_keep_each_fn(void *ctx, const char *name, uint64_t next);
int cay_keep_walk(int dir, uint64_t from, cay_keep_each_fn *each, void *ctx);
/*
 * Whether an image of this size can have this many inodes; CAY_INVALID says what to request. Also for images
 * that are not kept.
 */
int cay_keep_check_inodes(uint64_t bytes, uint64_t inodes, struct cay_error *err);
/*
 * Removes it; one that is not there is fine. 0 or -errno. Blocks of one that is mounted go with its last
 * mount.
 */
int cay_keep_drop(int dir, const char *id);
/*
 * Waits until its content is on disk, and checks that all of it was written: 0, -EUCLEAN: it is damaged, or
 * another -errno. fs: any descriptor in its last mount, closed here; -1: it is not mounted any more. For a
 * helper process: disks are slow.
 */
int cay_keep_write_out(int dir, const char *id, int fs);
/*
 * Blocks reserved in the folder: from now on so many bytes. The first KEEP_RESERVE of them are for data still
 * in transit to layers when the disk is full. 0 or -errno; when there is no room for more, it has what it
 * had.
 */
#define KEEP_RESERVE (16ull << 20)
int cay_keep_reserve(int dir, uint64_t bytes);
/* How long it is, and how much of that the disk already has. 0 or -errno. */
int cay_keep_measure(int dir, const char *id, uint64_t *ret_bytes, uint64_t *ret_had);
/* How much of what the disk has for it no other file shares. Does not wait for what is not written yet. */
int cay_keep_measure_own(int dir, const char *id, uint64_t *ret_own);
/* Renames a damaged layer accordingly. */
int cay_keep_set_aside(int dir, const char *id);
/* Some of the ids that have layers, from a place on (0: all); ret->layers is filled. 0 or -errno. */
int cay_keep_list(int dir, uint64_t from, struct wire_answer *ret);
