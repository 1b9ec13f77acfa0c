/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Mounts for kernels without the mount API (before 5.2) or without mount_setattr (before 5.12): mounts.h
 * chooses.
 *
 * Theory of operation. mount(2) takes paths. Every path given to it here is /proc/self/fd/N of a descriptor
 * that was opened without following a link: it means exactly that place, even if names change meanwhile. A
 * descriptor of the place refers to what is under the new mount. So the new root is opened by the place's
 * name in its directory, and must be on another mount than the place was. Attributes are added by a second
 * call (a bind mount takes none, and "read-only" to the first call would make the file system read-only, not
 * the mount); in between, the mount exists without them. So use these calls only in a mount namespace without
 * other processes. The second call replaces all attributes, so the existing ones are repeated: some may be
 * locked in a user namespace, and none may be lost.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

int sys_mount_old_new(const char *type, const char *const *options, unsigned attr, int dirfd,
                      const char *path);
int sys_mount_old_copy(int from_fd, const char *from, bool deep, uint64_t attr, int dirfd, const char *path);
int sys_mount_old_change(int dirfd, const char *path, uint64_t attr);
