/* SPDX-License-Identifier: Apache-2.0 */
/* Small files and descriptors, by directory descriptor. All return 0 (or a length) or -errno; everything is CLOEXEC. */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "foundation/base/banned.h"
#include "foundation/base/cleanup.h"

void sys_fd_mark(int fd, bool close_on_exec);                         /* -1: nothing is done */
int sys_open_at(int dirfd, const char *path, int flags, mode_t mode); /* O_CLOEXEC added; retried on EINTR */
/* Never leaves dirfd: no absolute path and no ".." (-EXDEV), no links and no magic links (-ELOOP) but for the last
   name with O_PATH | O_NOFOLLOW, which may be a link and is opened as itself. Where openat2 is missing (before Linux
   5.6) it is a walk from directory to directory, with the same answers. */
int sys_open_beneath(int dirfd, const char *path, int flags, mode_t mode);
/* Permission bits of an entry; -ELOOP for a link, which has none of its own. Where fchmodat2 is missing (before Linux
   6.6) the entry is opened and changed through /proc; without /proc too it is a look and then a call. */
int sys_chmod_at(int dirfd, const char *name, mode_t mode);
/* One write of the whole text to an existing (kernel) file. */
int sys_write_file(int dirfd, const char *path, const char *text);
/* Reads at most size-1 bytes and ends them with NUL; returns the length. */
ssize_t sys_read_file(int dirfd, const char *path, char *buf, size_t size);
ssize_t sys_read_fd(int fd, char *buf, size_t size); /* the same from offset 0 of an open file */
/* A new file with this content. */
int sys_make_file(int dirfd, const char *path, mode_t mode, const void *bytes, size_t len);
ssize_t sys_read_all(int fd, void *mem, size_t len); /* from where it stands, until len bytes or the end */
int sys_write_all(int fd, const void *bytes, size_t len);
/* "key value" in text: the value, or 0 when the key is not there. */
uint64_t sys_keyed_u64(const char *text, const char *key);
