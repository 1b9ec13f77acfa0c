/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A WRITE that replaces its target: the bytes go to a new file in the same folder, which takes the target's place when it is whole. One that
 * is cut off, or refused in the middle, leaves the old file as it was.
 *
 * What the target is keeps: a link is followed to the file it names, mode and owner are those of the old file. Where that cannot be (the
 * folder is closed to the user, the file is another's, it has an access list or attributes, it is a mount of its own) the old
 * file is written to in place, as any program would. A file with several names loses this one: the others keep what they had.
 */
#pragma once

#include "links/box/message.h"
#include "foundation/sys/replace.h"

struct cay_files_replace {
        struct sys_replace file; /* its descriptor is where the bytes go */
        int dir;                 /* owned; -1: none */
        int old_fd;              /* owned: the target, open for writing; -1: there is none */
        uint64_t tag;            /* that the target must have when its place is taken; 0: any */
        bool exclusive;
        char name[256];
};

#define CAY_FILES_REPLACE_NONE                                                                               \
        ((struct cay_files_replace){ .file = SYS_REPLACE_NONE, .dir = -1, .old_fd = -1 })

/* False: not here. Write in place, which also says what is wrong with the path, if that is why. */
bool cay_files_replace_begin(struct cay_files_replace *r, const char *path, const struct cay_box_file *f);
int cay_files_replace_commit(
        struct cay_files_replace *r); /* 0 or -errno; -ESTALE: the target is not what the tag says */
void cay_files_replace_done(struct cay_files_replace *r); /* drops what was not committed */

/* The worker is asked to go while it writes (SIGTERM): a file that has a name goes with it. One at a time; NULL: none any more. */
void cay_files_replace_guard(const struct sys_replace *file);
