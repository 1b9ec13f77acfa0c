/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's folder, accessed by descriptor. Every path is resolved below the folder without following any
 * link and without crossing mounts (a box sees one mount only). So a change set can touch only what is in the
 * folder. Functions return -errno: -ENOENT (it, or a directory above it, is missing), -ENOTDIR (something
 * above it is not a directory), -ELOOP (is a link), -EXDEV (is on another mount).
 */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "foundation/tar/change.h"

struct cay_folder {
        int fd;      /* owned */
        int dir_fd;  /* owned: the directory used last; -1: none */
        bool is_top; /* that is the folder itself */
        dev_t dev;
        char dir[CAY_CHANGE_PATH_MAX + 1];
};

int cay_folder_init_take(struct cay_folder *f, int fd); /* a directory, O_PATH or not; always consumed */
void cay_folder_done(struct cay_folder *f);
/* A directory was moved, made or removed: drops what is cached. */
void cay_folder_forget(struct cay_folder *f);

/* The directory of a path (O_PATH, borrowed until the next call) and the name in it (points into path). */
int cay_folder_parent(struct cay_folder *f, const char *path, const char **ret_name);
int cay_folder_stat(struct cay_folder *f, const char *path, struct stat *ret); /* of a link itself */
/* Opens a regular file for reading; -EINVAL: not one. A FIFO or device is never opened. */
int cay_folder_open_file(struct cay_folder *f, const char *path, struct stat *ret);
int cay_folder_open_dir(struct cay_folder *f, const char *path); /* for reading; the caller's */
/* The text of a link, NUL-terminated; returns its length. -ENAMETOOLONG: longer than any link. */
ssize_t cay_folder_readlink(struct cay_folder *f, const char *path, char ret[CAY_CHANGE_PATH_MAX + 1]);
