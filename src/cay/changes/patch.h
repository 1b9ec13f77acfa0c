/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A change set as text: a patch in the format of `git diff`, which `git apply` and `patch -p1` accept, and
 * counts of lines. It is compared with the folder's current content; entries that the folder already has are
 * left out. Directories and non-text content are not part of such a patch. Content comes from a box: on a
 * terminal, control characters are shown, not sent.
 */
#pragma once

#include <stdio.h>

#include "foundation/base/error.h"
#include "cay/changes/change_set.h"
#include "cay/changes/folder.h"

#define CAY_PATCH_FILE_MAX (64u << 20) /* bytes; larger files are reported to differ, like binary ones */

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
        bool is_same;                /* the folder has it already */
};

/*
 * The patches of all selected entries. -1: the folder or the set could not be read (the caller checks
 * writing).
 */
int cay_patch_print(const struct cay_patch *p, struct cay_error *err);
/* What the patch of one entry would be. */
int cay_patch_count(const struct cay_patch *p, const struct cay_change *c, struct cay_patch_lines *ret,
                    struct cay_error *err);

/* A name as git writes it: unchanged, or quoted with escapes if it would not be safe. */
void cay_patch_print_name(FILE *out, const char *prefix, const char *path);
