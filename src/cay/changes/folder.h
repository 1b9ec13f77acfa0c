/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's folder, seen by descriptor. Every path is resolved below the folder without following any link, whoever made it, and
 * without going to another mount (a box is shown one mount, so nothing behind another was ever seen by it): what
 * a change set says can touch nothing but what lies in the folder. Functions return -errno: -ENOENT (it, or a directory above
 * it, is not there), -ENOTDIR (something above it is no directory), -ELOOP (is a link), -EXDEV (is on another mount).
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

int cay_folder_init_take(struct cay_folder *f, int fd); /* a directory, O_PATH or not; consumed in any case */
void cay_folder_done(struct cay_folder *f);
/* A directory was moved, made or removed: look again. */
void cay_folder_forget(struct cay_folder *f);

/* The directory that path is in (O_PATH, borrowed until the next call) and its name there (points into path). */
int cay_folder_parent(struct cay_folder *f, const char *path, const char **ret_name);
int cay_folder_stat(struct cay_folder *f, const char *path, struct stat *ret); /* of a link itself */
/* Opens a regular file for reading; -EINVAL when it is none. A FIFO or device is never opened on the way. */
int cay_folder_open_file(struct cay_folder *f, const char *path, struct stat *ret);
int cay_folder_open_dir(struct cay_folder *f, const char *path); /* for reading; the caller's */
/* The text of a link with a NUL; its length. -ENAMETOOLONG: longer than any link is. */
ssize_t cay_folder_readlink(struct cay_folder *f, const char *path, char ret[CAY_CHANGE_PATH_MAX + 1]);
