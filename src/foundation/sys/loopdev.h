/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A size-limited file system in a file: the writable layer where tmpfs does not do. The file has no name and the loop device
 * lets go by itself, so nothing is left when the last mount is gone, whoever died before.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool sys_layer_image_can(void); /* mke2fs and loop devices are there */

/*
 * The parts, for images with a name. bytes, inodes: what users are to have (inodes 0: as many as are usual); the file is made longer
 * by what the file system needs itself. journal: after a crash the next mount mends it; wants 16 MiB at least.
 */
int sys_layer_image_format(int file, uint64_t bytes, uint64_t inodes, bool journal);
/* Was it mounted when the machine stopped? Of one with a journal; a process that dies leaves it clean. */
bool sys_layer_image_is_unclean(int file);
/* Has the kernel noted errors in it (a full or failing disk below)? Then its files are not what was written to them. */
bool sys_layer_image_has_errors(int file);
/*
 * Looks at all of it, and mends what a crash left: 0; 1: there was more to mend than the journal to replay, so the last that was written may
 * be missing; -EUCLEAN: it cannot be mended without asking, or it has errors; or -errno.
 */
int sys_layer_image_mend(int file);
/*
 * On a loop device, mounted detached: the mount, or -errno. The device keeps the file open, and with it a lock (flock) that was
 * taken on this very descriptor, until the last mount is gone. What is written to it is as safe as a file of the host that was
 * not synced: a power cut may take the last half minute, in any order, so an unclean one is to be mended before it is
 * mounted, and who wants a mount's content on the disk syncs the file when the mount is gone.
 */
int sys_layer_image_mount_file(int file, unsigned attr);
/* The device that a mount is on: "loop7". 0 or -errno. */
int sys_layer_device(int mount, char *ret, size_t size);
/* The content of one file into another, empty one: shared blocks where the file system can, else what is not a hole. */
int sys_layer_image_copy(int from, int to);

/* An unnamed file in `dir`, formatted, mounted detached: the mount, or -errno. inodes 0: as many as are usual. */
int sys_layer_image_mount(const char *dir, uint64_t bytes, uint64_t inodes, unsigned attr);
/* The same, mounted at path below dirfd: the root of the mount, also without the mount API (mounts.h). */
int sys_layer_image_place(const char *dir, uint64_t bytes, uint64_t inodes, unsigned attr, int dirfd,
                          const char *path);
