/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts for kernels without the mount API (before 5.2) or without mount_setattr (before 5.12): mounts.h chooses.
 *
 * Theory of operation. mount(2) takes paths. Every path given to it here is /proc/self/fd/N of a descriptor that was
 * opened without following a link: it means exactly that place, whatever happens to names meanwhile. A descriptor of
 * the place sees what is below the new mount, so the new root is opened by the place's name in its directory and must
 * then be on another mount than the place was. Attributes are added by a second call (a bind mount takes none, and
 * "read-only" to the first call would make the file system read-only, not the mount); in between, the mount is there without
 * them. Hence these calls are for a mount namespace where nobody else lives yet. The second call replaces all
 * attributes: those that the mount has are said again, since some may be locked in a user namespace, and none shall
 * be lost anywhere. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

int sys_mount_old_new(const char *type, const char *const *options, unsigned attr, int dirfd,
                      const char *path);
int sys_mount_old_copy(int from_fd, const char *from, bool deep, uint64_t attr, int dirfd, const char *path);
int sys_mount_old_change(int dirfd, const char *path, uint64_t attr);
