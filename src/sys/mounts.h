/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts by descriptor: made detached, then moved to a place below a directory descriptor. 0 or fd, or -errno. */
#pragma once

#include <stdint.h>

#include "sys/syscalls.h"

#define SYS_MOUNT_SAFE (SYS_MOUNT_NOSUID | SYS_MOUNT_NODEV)

/* A new file system, detached. options: "key=value" or "flag", NULL-terminated. */
int sys_mount_new(const char *type, const char *const *options, unsigned attr);
/* A private copy of a place (one mount, no submounts), detached; attr is added to what it has. */
int sys_mount_copy(int dirfd, const char *path, uint64_t attr);
/* The same with ids shifted by a user namespace; -EINVAL where the file system cannot (then without: *ret_plain = 1). */
int sys_mount_copy_idmapped(int dirfd, const char *path, uint64_t attr, int userns_fd, int *ret_plain);
/* Attaches at path below dirfd; path "" = dirfd itself. Links are not followed. */
int sys_mount_attach(int mount_fd, int dirfd, const char *path);
int sys_mount_change(int dirfd, const char *path, uint64_t set); /* adds attributes to an attached mount */
