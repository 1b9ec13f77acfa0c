/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unpacks a tar stream below a local folder. The sender is not trusted. Names must be plain and relative, and
 * each is resolved below the folder without following any link (cay/changes/folder.h). Existing files are
 * never opened: what a file or link replaces is removed first. Set-id bits are dropped; devices and FIFOs are
 * left out and counted. Modes of directories are set at the end, so that read-only ones can be filled.
 *
 * The archive has one entry, as the daemon packs it: a directory, whose first member is "./", or a single
 * file or link. It becomes `name` in the folder.
 */
#pragma once

#include "cay/changes/folder.h"
#include "foundation/sys/replace.h"
#include "foundation/tar/tar_reader.h"

struct cay_unpack_dir;

struct cay_unpack {
        struct cay_tar_sink sink;
        struct cay_tar_reader reader;
        struct cay_folder folder;
        const char *name;        /* borrowed; one component */
        struct sys_replace file; /* the current file */
        bool has_root, is_tree;
        uint32_t mode;
        struct timespec mtime;
        struct cay_unpack_dir *dirs; /* owned */
        size_t dir_count, dir_room;
        char path[CAY_CHANGE_PATH_MAX + 1]; /* of the current member */
        char link[CAY_CHANGE_PATH_MAX + 1];

        uint64_t bytes, entries, left_out;
};

int cay_unpack_init_take(struct cay_unpack *u, int folder_fd, const char *name, struct cay_error *err);
int cay_unpack_feed(struct cay_unpack *u, const void *bytes, size_t len, struct cay_error *err);
int cay_unpack_finish(struct cay_unpack *u, struct cay_error *err); /* -1: the archive is incomplete */
void cay_unpack_done(struct cay_unpack *u);
