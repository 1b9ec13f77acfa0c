/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A place in a directory tree, kept as the chain of directories from a root down to it. Every step down opens
 * one name below an open directory and never follows a link; steps up use the descriptors of the last levels,
 * or walk down again and compare device and inode. So a chain of any depth needs a fixed number of
 * descriptors. Functions return -errno. Memory grows with the depth, up to the two limits below.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/banned.h"

#define CAY_FILES_WINDOW 16u      /* descriptors kept: few, sandboxes may have a small limit */
#define CAY_FILES_DEPTH_MAX 4096u /* levels below the root */
#define CAY_FILES_PATH_MAX 16383u /* bytes of the path below the root */

struct cay_files_level {
        uint64_t dev, ino;
        int64_t pos;     /* used by the walk: where to continue in this directory */
        int64_t mtime_s; /* used by unpacking: set when the level is left */
        uint32_t mtime_ns;
        uint32_t path_len; /* of the path up to and with this level */
        uint16_t mode;
        bool is_ours; /* mode and mtime are to be set */
};

struct cay_files_chain {
        struct cay_files_level *levels; /* owned; levels[0] is the root */
        char *path;                     /* owned; names of levels 1… joined by '/', NUL-terminated */
        uint32_t depth;                 /* of the current level; 0: the root */
        uint32_t levels_cap, path_cap;
        int root_fd;                  /* owned */
        int window[CAY_FILES_WINDOW]; /* owned; level n at n % CAY_FILES_WINDOW, -1: closed */
};

/* Consumes root_fd, also when it fails. A zeroed chain may be done. */
int cay_files_chain_init_take(struct cay_files_chain *c, int root_fd);
void cay_files_chain_done(struct cay_files_chain *c);

/*
 * Goes down into `name`: -ENOTDIR for a link or anything else that is no directory, -ENAMETOOLONG beyond the
 * limits.
 */
int cay_files_chain_enter(struct cay_files_chain *c, const char *name, size_t len);
/* Goes up one level; the root has none. */
void cay_files_chain_leave(struct cay_files_chain *c);
/* The current directory, borrowed until the next step; -ESTALE if it was moved. */
int cay_files_chain_fd(struct cay_files_chain *c);

static inline struct cay_files_level *cay_files_chain_level(struct cay_files_chain *c)
{
        return &c->levels[c->depth];
}

/*
 * Appends '/' and name to the path as it would be below the current level, in caller's memory; the length or
 * -ENAMETOOLONG.
 */
int cay_files_chain_join(const struct cay_files_chain *c, const char *name, char *ret, size_t size);

/* An opaque number of the mount that fd is on; 0 if the kernel doesn't tell. */
uint64_t cay_files_mount_of(int fd);
