/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file with XFS in it: its files can share blocks (FICLONE), whatever file system it lies on.
 *
 * The file is sparse: it takes of the disk what is in use, and gives back what is freed when that is asked
 * for (trim). It is not mounted with `discard`, which could not be turned off while the disk is short: XFS
 * does not change it at a remount, and Linux 6.18 does not let a queue's discard_max_bytes leave 0 again. Its
 * log and the heads of its groups are allocated when it is made, because a log that cannot be written ends
 * the whole file system.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define SYS_XFS_POOL_LEAST (512ull << 20) /* smaller ones mkfs.xfs refuses, or they have hardly a log */

/* mkfs.xfs and loop devices are there. -errno: -ENOENT (no mkfs.xfs), -ENODEV (the kernel has no XFS). */
int sys_xfs_pool_can(void);
/* Makes an empty file such a file system of so many bytes. 0 or -errno. */
int sys_xfs_pool_format(int file, uint64_t bytes);
/*
 * Mounts it detached, as a mount of the caller's own that nobody can reach by a path: the mount, or -errno.
 * As with layers (loopdev.h) the device keeps the file open, and with it a lock on this descriptor, until the
 * last mount is gone. -EUCLEAN: the kernel found it damaged.
 */
int sys_xfs_pool_mount(int file);
/* To so many bytes; its file is longer already. Of a mounted one. 0 or -errno. */
int sys_xfs_pool_grow(int mount, uint64_t bytes);

/*
 * For a mounted one, by any descriptor in it. A sparse pool can promise more than its disk has. These make a
 * part of it independent of what others do with the disk.
 *
 * back_used: gives blocks of the disk to every used block of the pool that has none yet. file: the pool's;
 * -1: only counts. ret_free, if not NULL: how many bytes were free. 0 or -errno: -ENOSPC when the disk is
 * full, -ENOTTY when the kernel cannot list the blocks.
 *
 * trim: gives back what is free in it now, in pieces of at least so many bytes, and waits until that is done.
 */
int sys_xfs_pool_back_used(int dir, int file, uint64_t *ret_free);
int sys_xfs_pool_trim(int dir, uint64_t least);
/*
 * By a file in it that is never read or written, `inside`. give_back: its blocks, as far as the disk has any
 * for them. back_file: the other way round, from a place in that file on: a little more at its beginning, as
 * extents are. back_others: gives blocks of the disk to all of the pool but that file, so that writing there
 * needs nothing, whatever layers use or free meanwhile. 0 or -errno, as back_used.
 */
int sys_xfs_pool_give_back(int inside, int file);
int sys_xfs_pool_back_file(int inside, uint64_t from, int file);
int sys_xfs_pool_back_others(int inside, int file);
/* Whether file is the one that dir's file system is in. */
bool sys_xfs_pool_is_in(int dir, int file);
