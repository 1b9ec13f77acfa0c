/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small files and descriptors, by directory descriptor. All return 0 (or a length) or -errno; everything is
 * CLOEXEC.
 */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "foundation/base/banned.h"
#include "foundation/base/cleanup.h"

void sys_fd_mark(int fd, bool close_on_exec);                         /* -1: does nothing */
int sys_open_at(int dirfd, const char *path, int flags, mode_t mode); /* O_CLOEXEC added; retried on EINTR */
/*
 * When a file was made, in seconds since 1970; 0: this kernel or file system does not say. Links are not
 * followed.
 */
int64_t sys_file_born(int dirfd, const char *path);
/*
 * Never leaves dirfd: absolute paths and ".." give -EXDEV, links and magic links give -ELOOP. Exception: with
 * O_PATH | O_NOFOLLOW the last name may be a link, which is opened itself. Where openat2 is missing (before
 * Linux 5.6) the path is walked one directory at a time, with the same results.
 */
int sys_open_beneath(int dirfd, const char *path, int flags, mode_t mode);
/*
 * Sets permission bits of an entry; -ELOOP for a link, which has none. Where fchmodat2 is missing (before
 * Linux 6.6) the entry is opened and changed through /proc. Without /proc it is a check followed by a call.
 */
int sys_chmod_at(int dirfd, const char *name, mode_t mode);
/*
 * O_PATH of the folder in which the file really is, links followed. For rules that must hold when the file is
 * replaced.
 */
int sys_open_folder_of(const char *path);
/* One write of the whole text to an existing (kernel) file. */
int sys_write_file(int dirfd, const char *path, const char *text);
/* Reads at most size-1 bytes and ends them with NUL; returns the length. */
ssize_t sys_read_file(int dirfd, const char *path, char *buf, size_t size);
ssize_t sys_read_fd(int fd, char *buf, size_t size); /* the same from offset 0 of an open file */
/* A new file with this content. */
int sys_make_file(int dirfd, const char *path, mode_t mode, const void *bytes, size_t len);
/* from the current position, until len bytes or the end */
ssize_t sys_read_all(int fd, void *mem, size_t len);
int sys_write_all(int fd, const void *bytes, size_t len);
/* "key value" in text: the value, or 0 when the key is not there. */
uint64_t sys_keyed_u64(const char *text, const char *key);
