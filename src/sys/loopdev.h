/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A size-limited file system in a file: the writable layer where tmpfs does not do. The file has no name and the loop device
 * lets go by itself, so nothing is left when the last mount is gone, whoever died before.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

bool sys_layer_image_can(void); /* mke2fs and loop devices are there */
/* An unnamed file in `dir`, formatted, mounted detached: the mount, or -errno. inodes 0: as many as are usual. */
int sys_layer_image_mount(const char *dir, uint64_t bytes, uint64_t inodes, unsigned attr);
/* The same, mounted at path below dirfd: the root of the mount, also without the mount API (mounts.h). */
int sys_layer_image_place(const char *dir, uint64_t bytes, uint64_t inodes, unsigned attr, int dirfd,
                          const char *path);
