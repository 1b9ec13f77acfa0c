/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A change set as text: a patch in the form of `git diff`, which `git apply` and `patch -p1` take, and counts of lines. Compared is
 * with what the folder holds now; what it holds already as the set wants it gives nothing. Directories are no part of such
 * a patch, and neither is what is not text. Content comes from a box: on a terminal, characters that would steer it are shown, not sent.
 */
#pragma once

#include <stdio.h>

#include "foundation/base/error.h"
#include "cay/changes/change_set.h"
#include "cay/changes/folder.h"

#define CAY_PATCH_FILE_MAX (64u << 20) /* bytes; larger files are told to differ, as binary ones are */

struct cay_patch {
        struct cay_change_set *set; /* borrowed, as are the others */
        struct cay_folder *folder;
        FILE *out;
        bool is_terminal;
};

struct cay_patch_lines {
        uint64_t added, removed;     /* lines */
        uint64_t old_size, new_size; /* bytes */
        bool is_binary;              /* no lines, then */
        bool is_same;                /* the folder is like that already */
};

/* The patches of all selected entries. -1: the folder or the set could not be read (writing is for the caller to check). */
int cay_patch_print(const struct cay_patch *p, struct cay_error *err);
/* What the patch of one entry would be. */
int cay_patch_count(const struct cay_patch *p, const struct cay_change *c, struct cay_patch_lines *ret,
                    struct cay_error *err);

/* A name as git writes it: as it is, or in quotes with escapes where it would not be safe. */
void cay_patch_print_name(FILE *out, const char *prefix, const char *path);
