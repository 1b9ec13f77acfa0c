/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mounts by descriptor. 0 or fd, or -errno.
 *
 * There are two implementations. With the kernel's mount API a mount is made detached and then moved to its
 * place. The calls that work on a detached mount (new, copy, copy_idmapped, attach) exist only there and
 * return -ENOSYS on older kernels. The calls that make and place in one step (place_new, place_copy) and
 * sys_mount_change can also use mount(2), so that everything except shifted ids works on any kernel. The
 * target is opened first without following links and named by its descriptor (/proc/self/fd/N), never by a
 * path that others could change meanwhile. mount(2) therefore needs /proc. If an attribute cannot be set, the
 * mount is removed: no call leaves a mount that is weaker than requested.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/sys/syscalls.h"

#define SYS_MOUNT_SAFE (SYS_MOUNT_NOSUID | SYS_MOUNT_NODEV)

bool sys_mount_has_api(
        void); /* fsopen, open_tree and move_mount exist (mount_setattr may still be missing) */

/*
 * Makes a file system and mounts it at path below dirfd ("" = dirfd itself; links are not followed). options
 * as for sys_mount_new. Returns a descriptor of the new root, good as a dirfd.
 */
int sys_mount_place_new(const char *type, const char *const *options, unsigned attr, int dirfd,
                        const char *path);
/*
 * Binds a place of our own mount namespace (from below from_fd, "" = from_fd itself) to path below dirfd;
 * deep includes the mounts below it. attr is added to each of these mounts. Returns a descriptor of the new
 * mount's root.
 */
int sys_mount_place_copy(int from_fd, const char *from, bool deep, uint64_t attr, int dirfd,
                         const char *path);

/* A new file system, detached. options: "key=value" or "flag", NULL-terminated. */
int sys_mount_new(const char *type, const char *const *options, unsigned attr);
/* A private copy of a place (one mount, no submounts), detached; attr is added to what it has. */
int sys_mount_copy(int dirfd, const char *path, uint64_t attr);
/*
 * The same with ids shifted by a user namespace; -EINVAL where the file system cannot (then without:
 * *ret_plain = 1).
 */
int sys_mount_copy_idmapped(int dirfd, const char *path, uint64_t attr, int userns_fd, int *ret_plain);
/* Attaches at path below dirfd; path "" = dirfd itself. Links are not followed. */
int sys_mount_attach(int mount_fd, int dirfd, const char *path);
int sys_mount_change(int dirfd, const char *path, uint64_t set); /* adds attributes to an attached mount */
