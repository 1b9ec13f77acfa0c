/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A size-limited file system in a file: the writable layer where tmpfs does not do. The file has no name and the loop device
 * lets go by itself, so nothing is left when the last mount is gone, whoever died before.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

bool sys_layer_image_can(void); /* mke2fs and loop devices are there */

/*
 * The parts, for images with a name. bytes, inodes: what users are to have (inodes 0: as many as are usual); the file is made longer
 * by what the file system needs itself. journal: after a crash the next mount mends it; wants 16 MiB at least.
 */
int sys_layer_image_format(int file, uint64_t bytes, uint64_t inodes, bool journal);
/* Mends what a crash left of one without a journal: 0, -EUCLEAN: it cannot be mended without asking, or -errno. */
int sys_layer_image_mend(int file);
/*
 * On a loop device, mounted detached: the mount, or -errno. The device keeps the file open, and with it a lock (flock) that was
 * taken on this very descriptor, until the last mount is gone.
 */
int sys_layer_image_mount_file(int file, unsigned attr);
/* The content of one file into another, empty one: shared blocks where the file system can, else what is not a hole. */
int sys_layer_image_copy(int from, int to);

/* An unnamed file in `dir`, formatted, mounted detached: the mount, or -errno. inodes 0: as many as are usual. */
int sys_layer_image_mount(const char *dir, uint64_t bytes, uint64_t inodes, unsigned attr);
/* The same, mounted at path below dirfd: the root of the mount, also without the mount API (mounts.h). */
int sys_layer_image_place(const char *dir, uint64_t bytes, uint64_t inodes, unsigned attr, int dirfd,
                          const char *path);
