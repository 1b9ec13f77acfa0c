/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides what to do with each member of an untrusted archive: names are checked and normalised, modes
 * restricted, limits counted, and the result is one of a few file actions. Pure: the actions are a table, so
 * that the fuzzer runs all of it without touching a disk.
 */
#pragma once

#include "foundation/tar/tar_reader.h"

#define CAY_ARCHIVE_ENTRIES_MAX 1000000u /* where the caller sets no limit */
#define CAY_ARCHIVE_DEPTH_MAX 4096u      /* components of a name */

struct cay_archive_actions;

/*
 * Paths are relative, normalised ("a/b": no "", ".", ".." component, at most 255 bytes each) and below the
 * target. The action must resolve them without following links. Modes have permission bits only. Each returns
 * 0, or -1 with *err filled, which ends the unpacking.
 */
struct cay_archive_action_ops {
        int (*directory)(struct cay_archive_actions *a, const char *path, const struct cay_tar_member *m,
                         struct cay_error *err);
        int (*file_begin)(struct cay_archive_actions *a, const char *path, const struct cay_tar_member *m,
                          struct cay_error *err);
        int (*file_data)(struct cay_archive_actions *a, const void *bytes, size_t len, struct cay_error *err);
        int (*file_hole)(struct cay_archive_actions *a, uint64_t len, struct cay_error *err);
        int (*file_end)(struct cay_archive_actions *a, struct cay_error *err);
        int (*symlink)(struct cay_archive_actions *a, const char *path, const struct cay_tar_member *m,
                       struct cay_error *err); /* m->link: any text */
        int (*link)(struct cay_archive_actions *a, const char *path, const char *target,
                    struct cay_error *err); /* target: a plain path too */
};

struct cay_archive_actions {
        const struct cay_archive_action_ops *ops;
};

struct cay_archive_plan {
        struct cay_tar_sink sink;
        struct cay_tar_reader reader;
        struct cay_archive_actions *actions; /* borrowed */
        uint64_t max_bytes;                  /* of files together; UINT64_MAX: no limit but the disk's */
        uint64_t max_entries;
        uint64_t bytes, entries; /* taken so far */
        char path[CAY_TAR_NAME_MAX + 1];
        char target[CAY_TAR_NAME_MAX + 1];
};

/* Limits of 0 are the defaults: CAY_ARCHIVE_ENTRIES_MAX, and no limit of bytes. */
void cay_archive_plan_init(struct cay_archive_plan *p, struct cay_archive_actions *actions,
                           uint64_t max_bytes, uint64_t max_entries);
int cay_archive_plan_feed(struct cay_archive_plan *p, const void *bytes, size_t len, struct cay_error *err);
int cay_archive_plan_finish(struct cay_archive_plan *p, struct cay_error *err);

/*
 * Normalises a member's name: drops "." and empty components and a slash at the end. Returns the length, 0
 * for the target itself, or -1 with the reason in *ret_why (absolute, "..", too deep, too long).
 */
int cay_archive_path_clean(const char *name, char ret[CAY_TAR_NAME_MAX + 1], const char **ret_why);
