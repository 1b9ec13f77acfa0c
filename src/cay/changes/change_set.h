/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A change set (foundation/tar/change.h) as an index: every entry checked, in the order of the tree. The
 * bytes of files stay in the archive and are read on demand. The archive was written with the box's rights,
 * so all of it is untrusted. Anything that differs from cay-init's exact format is refused as a whole.
 * Afterwards no path in the index leaves the folder by name. (folder.h protects against links in the folder.)
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/error.h"
#include "foundation/tar/change.h"

struct cay_change {
        const char *path;          /* borrowed from the set, as is target */
        const char *target;        /* of a symbolic link; else "" */
        enum cay_change_type type; /* what it is now: FILE, DIRECTORY, SYMLINK; NONE: removed */
        uint32_t mode;             /* permission bits */
        uint64_t size;             /* of a file */
        uint64_t data_at;          /* where its bytes are in the archive */
        struct cay_change_base base;
        bool is_implied;  /* a directory that came or went with its content: implied by it */
        bool is_selected; /* all are, until cay_change_set_select */
};

struct cay_change_counts {
        uint64_t added, changed, removed; /* implied ones not counted */
        uint64_t bytes;                   /* of the files */
};

struct cay_change_set;

/*
 * Reads the archive in fd (borrowed; must outlive the set) from its start. An empty file is refused as
 * truncated.
 */
int cay_change_set_open(int fd, struct cay_change_set **ret, struct cay_error *err);
void cay_change_set_free(struct cay_change_set *set);
CAY_DEFINE_AUTO(struct cay_change_set, cay_change_set_free)

size_t cay_change_set_count(const struct cay_change_set *set);
struct cay_change *cay_change_set_at(struct cay_change_set *set,
                                     size_t i); /* parents before what is in them */
struct cay_change *cay_change_set_find(struct cay_change_set *set,
                                       const char *path); /* NULL: no such entry */
void cay_change_set_counts(const struct cay_change_set *set, struct cay_change_counts *ret);

/*
 * Selects what is at or below the paths (relative to the folder, "./" and trailing slashes allowed) and the
 * directories that must be made for it. A path without a change is refused. No paths: everything.
 */
int cay_change_set_select(struct cay_change_set *set, const char *const *paths, size_t count,
                          struct cay_error *err);

/* Reads up to len bytes of a file's content from offset on: how many, fewer only at its end; -errno. */
ssize_t cay_change_set_read(const struct cay_change_set *set, const struct cay_change *c, uint64_t offset,
                            void *mem, size_t len);

/* 'A', 'M', 'D', or 'T' for a changed type. */
char cay_change_status(const struct cay_change *c);
bool cay_change_is_below(const char *path, const char *dir); /* strictly */
int cay_change_compare(const char *a, const char *b);        /* the order of the tree */
