/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files with holes. Reading: find where the data is. Writing: blocks that contain only zeros are skipped, and
 * become holes where the file system supports them. So a hole in the source costs nothing at the destination,
 * however it was transferred.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "foundation/base/banned.h"

/*
 * The next run of data at or after `from`, cut at `size`. 1; 0: only a hole is left; -errno. On a file system
 * without that information the whole file is one run. Moves the descriptor's position.
 */
int sys_sparse_next(int fd, uint64_t from, uint64_t size, uint64_t *ret_at, uint64_t *ret_len);

/*
 * Writes at the descriptor's position, in a file that is empty from there on. Where zeros cannot be skipped
 * (a pipe) they are written. 0 or -errno.
 */
int sys_sparse_write(int fd, const void *bytes, size_t len);
int sys_sparse_end(int fd); /* after the last one: the file ends here. 0 or -errno */
