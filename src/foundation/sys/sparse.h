/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files with holes. Reading: where the data are. Writing a file whose zeros take no room: blocks of nothing but zeros are left out, and are holes where the file system has them. So what was a
 * hole where it comes from costs nothing where it goes, whatever it was sent as.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "foundation/base/banned.h"

/*
 * The next run of data at or behind `from`, cut at `size`. 1; 0: only a hole is left; -errno. A file system that does not tell has one
 * run: the whole file. The descriptor's position is moved.
 */
int sys_sparse_next(int fd, uint64_t from, uint64_t size, uint64_t *ret_at, uint64_t *ret_len);

/* At the descriptor's position, in a file that is empty from there on. What cannot be left out (a pipe) is written. 0 or -errno. */
int sys_sparse_write(int fd, const void *bytes, size_t len);
int sys_sparse_end(int fd); /* after the last one: the file ends here. 0 or -errno */
