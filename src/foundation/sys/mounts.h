/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts by descriptor. 0 or fd, or -errno.
 *
 * Two ways lead to a mount. With the kernel's mount API it is made detached and then moved to its place; the calls
 * that work on a detached mount (new, copy, copy_idmapped, attach) exist in this way only and answer -ENOSYS where the
 * kernel has none of it. The calls that make and place in one step (place_new, place_copy) and sys_mount_change also
 * go the old way, mount(2), so that everything except shifted ids works on any kernel: the place is opened first
 * without following links and named by its descriptor (/proc/self/fd/N), never by a path that somebody could change
 * meanwhile. The old way therefore needs a /proc. A mount that could not be given all of its attributes is taken off
 * again: no call leaves a mount behind that is weaker than what was asked for. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/sys/syscalls.h"

#define SYS_MOUNT_SAFE (SYS_MOUNT_NOSUID | SYS_MOUNT_NODEV)

bool sys_mount_has_api(
        void); /* fsopen, open_tree and move_mount exist (mount_setattr may still be missing) */

/* Makes a file system and mounts it at path below dirfd ("" = dirfd itself; links are not followed). options as for
   sys_mount_new. Returns a descriptor of the new root, good as a dirfd. */
int sys_mount_place_new(const char *type, const char *const *options, unsigned attr, int dirfd,
                        const char *path);
/* Shows a place of our own mount namespace (from below from_fd, "" = from_fd itself) also at path below dirfd, with
   the mounts below it when deep. attr is added to what each of these mounts has. Returns a descriptor of the new
   mount's root. */
int sys_mount_place_copy(int from_fd, const char *from, bool deep, uint64_t attr, int dirfd,
                         const char *path);

/* A new file system, detached. options: "key=value" or "flag", NULL-terminated. */
int sys_mount_new(const char *type, const char *const *options, unsigned attr);
/* A private copy of a place (one mount, no submounts), detached; attr is added to what it has. */
int sys_mount_copy(int dirfd, const char *path, uint64_t attr);
/* The same with ids shifted by a user namespace; -EINVAL where the file system cannot (then without: *ret_plain = 1). */
int sys_mount_copy_idmapped(int dirfd, const char *path, uint64_t attr, int userns_fd, int *ret_plain);
/* Attaches at path below dirfd; path "" = dirfd itself. Links are not followed. */
int sys_mount_attach(int mount_fd, int dirfd, const char *path);
int sys_mount_change(int dirfd, const char *path, uint64_t set); /* adds attributes to an attached mount */
