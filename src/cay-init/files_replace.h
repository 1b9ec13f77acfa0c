/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A WRITE that replaces its target: the bytes are written to a new file in the same folder, which replaces
 * the target when it is complete. An interrupted or failed write leaves the old file unchanged.
 *
 * The target's properties are kept: a link is followed, and mode and owner are those of the old file. The old
 * file is written in place where that is impossible: the user cannot write to the folder, the file belongs to
 * another user, it has an access list or attributes, or it is a mount. A file with several hard links is
 * replaced under this name only; the others keep the old content.
 */
#pragma once

#include "links/box/message.h"
#include "foundation/sys/replace.h"

struct cay_files_replace {
        struct sys_replace file; /* its descriptor is where the bytes go */
        int dir;                 /* owned; -1: none */
        int old_fd;              /* owned: the target, open for writing; -1: there is none */
        uint64_t tag;            /* tag that the target must have when it is replaced; 0: any */
        bool exclusive;
        char name[256];
};

#define CAY_FILES_REPLACE_NONE                                                                               \
        ((struct cay_files_replace){ .file = SYS_REPLACE_NONE, .dir = -1, .old_fd = -1 })

/* False: not possible here. Write in place, which also reports errors of the path. */
bool cay_files_replace_begin(struct cay_files_replace *r, const char *path, const struct cay_box_file *f);
int cay_files_replace_commit(
        struct cay_files_replace *r); /* 0 or -errno; -ESTALE: the target does not match the tag */
void cay_files_replace_done(struct cay_files_replace *r); /* drops what was not committed */

/* On SIGTERM a worker removes a named temporary file. One at a time; NULL: none any more. */
void cay_files_replace_guard(const struct sys_replace *file);
