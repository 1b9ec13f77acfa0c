/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attributes that clients give to files: pairs of texts, kept by the file system as user.e2b.NAME. A text has
 * all of them, each as "NAME\tVALUE\n"; names and values are printable ASCII. Commands can neither set nor
 * read attributes (seccomp_policy.def), workers can (seccomp_worker.def).
 */
#pragma once

#include <stddef.h>

/*
 * All that the file has are replaced. 0 or -errno: -EINVAL: the text is malformed. Changes nothing before the
 * text was checked.
 */
int cay_files_attributes_set(int fd, const char *text);
/* As many as fit whole. fd: open for reading. */
void cay_files_attributes_get(int fd, char *ret, size_t size);
/* Of a regular file or a directory that the worker may read; else "". fd and path as of openat. */
void cay_files_attributes_find(int fd, const char *path, char *ret, size_t size);
