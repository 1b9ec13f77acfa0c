/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The layer pool: one sparse file of the data folder, `layers.pool`, with a file system that shares blocks.
 * All layers live in it when the operator wants it (setting layer_pool), so that snapshots and forks cost
 * milliseconds and no space where the disk's own file system cannot share (ext4).
 *
 * Theory of operation. The keeper mounts it before anything else runs, as a mount of its own without a path:
 * nobody else reaches it, and it goes with the last process that has a descriptor in it, whoever dies. The
 * file is locked on the descriptor that the loop device takes, so it is never mounted twice. The next daemon
 * waits until the kernel has written the last one's out. A file is given its name when it is complete.
 *
 * Layers that were made without the pool move into it at the start: each is copied, written out, and only
 * then removed outside, so a start that is interrupted goes on with the next one. Without the setting a
 * daemon that finds a pool does not start: its sandboxes' files are in there.
 *
 * A damaged one ends the start with the reason. Nothing repairs it by itself: xfs_repair decides what is
 * lost.
 */
#pragma once

#include <stdint.h>

#include "foundation/base/error.h"

#define CAY_LAYER_POOL "layers.pool"

/*
 * bytes: how large it may get; 0: none is wanted. outside: the folder of layers on the disk itself. ret: the
 * folder of layers from now on; -1: `outside` is it.
 */
int cay_layer_pool_open(int data_fd, int outside, uint64_t bytes, int *ret, struct cay_error *err);
