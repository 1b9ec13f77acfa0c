/* SPDX-License-Identifier: Apache-2.0 */
/* The names in a directory, without libc's heap. */
#pragma once

/* Calls back for every entry but "." and ".."; type is DT_DIR, DT_REG…; 0 or -errno. dirfd may be O_PATH. */
int sys_dir_each(int dirfd, void (*each)(void *ctx, int dirfd, const char *name, unsigned type), void *ctx);
