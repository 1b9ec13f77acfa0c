/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file with XFS in it: its files can share blocks (FICLONE), whatever file system it lies on.
 *
 * The file is sparse: it takes of the disk what is in use, and gives back what is freed (discard). Its log and
 * the heads of its groups are allocated when it is made, because a log that cannot be written ends the whole
 * file system.
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
