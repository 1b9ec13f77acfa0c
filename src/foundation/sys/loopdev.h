/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A size-limited file system in a file: the writable layer where tmpfs does not fit. The file has no name and
 * the loop device is released automatically. So nothing is left after the last unmount, even after a crash.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool sys_layer_image_can(void); /* mke2fs and loop devices are there */

/*
 * The separate steps, for images with a name. bytes, inodes: capacity for users (inodes 0: the usual number);
 * the file is longer by what the file system needs itself. journal: after a crash the next mount repairs it;
 * needs at least 16 MiB.
 */
int sys_layer_image_format(int file, uint64_t bytes, uint64_t inodes, bool journal);
/*
 * True if it was mounted when the machine stopped. Only for images with a journal; a process that dies leaves
 * it clean.
 */
bool sys_layer_image_is_unclean(int file);
/* True if the kernel recorded errors in it (a full or failing disk below). Then its files may be corrupt. */
bool sys_layer_image_has_errors(int file);
/*
 * Checks all of it and repairs crash damage. 0; 1: more than a journal replay was needed, so the last writes
 * may be missing; -EUCLEAN: it cannot be repaired automatically, or it has errors; or -errno.
 */
int sys_layer_image_mend(int file);
/*
 * Attaches the file to a loop device and mounts it detached: the mount, or -errno. The device keeps the file
 * open until the last mount is gone, and with it a lock (flock) that was taken on this very descriptor. Data
 * written to it is as safe as an unsynced file of the host: a power cut may lose the last half minute, in any
 * order. So repair an unclean image before mounting it, and sync the file after the unmount if the content
 * must be on disk.
 */
int sys_layer_image_mount_file(int file, unsigned attr);
/*
 * The same, but what a program inside has synced (fsync) is on the host's disk, also after a power cut: for
 * images that hold more than one sandbox's own files.
 */
int sys_layer_image_mount_durable(int file, unsigned attr);
/* A clean one for reading alone, opened for that: nobody can write to it through this mount. */
int sys_layer_image_mount_read(int file, unsigned attr);
/*
 * A further mount of an image that is mounted already, on the device of this name ("loop7"): both show the
 * same files. -ESTALE: that device is not of this file (any more).
 */
int sys_layer_image_mount_again(int file, const char *device, unsigned attr);
/* Name of the device that a mount is on: "loop7". 0 or -errno. */
int sys_layer_device(int mount, char *ret, size_t size);
/*
 * Copies one file into another, empty one: shares blocks where the file system can, else copies everything
 * except holes.
 */
int sys_layer_image_copy(int from, int to);
/*
 * The halves of that. share: 0, or -errno where the file system cannot. copy_data: everything except holes.
 */
int sys_layer_image_share(int from, int to);
int sys_layer_image_copy_data(int from, int to);
bool sys_layer_image_can_share(int from, int to); /* shares one block */
/*
 * Bytes of it that no other file shares; all of them where the file system does not tell. write_out: first
 * writes what is not on disk yet, else it is not counted. 0 or -errno.
 */
int sys_layer_image_own_bytes(int file, bool write_out, uint64_t *ret);
/* True if it has a journal: then the next mount of an unclean one repairs it. */
bool sys_layer_image_has_journal(int file);

/*
 * The parts of that, for other file systems in files (xfs_pool.h). run: a program on the file, whose path is
 * the last argument: its exit status, or -errno. attach: the open device, whose path is written, or -errno.
 */
int sys_layer_image_run(int file, const char *program, char *const *argv);
int sys_layer_image_attach(int file, char *ret_path, size_t size);

/*
 * An unnamed file in `dir`, formatted, mounted detached: the mount, or -errno. inodes 0: as many as are
 * usual.
 */
int sys_layer_image_mount(const char *dir, uint64_t bytes, uint64_t inodes, unsigned attr);
/* The same, mounted at path below dirfd: the root of the mount, also without the mount API (mounts.h). */
int sys_layer_image_place(const char *dir, uint64_t bytes, uint64_t inodes, unsigned attr, int dirfd,
                          const char *path);
