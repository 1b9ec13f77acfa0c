/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A change set: what a run changed in a copy-on-write workspace, as a tar archive.
 *
 * cay-init writes it out of the overlay's upper directory, changes/ reads it. It says what the workspace is
 * now wherever that differs from its base, the host's folder; nothing in it depends on how an overlay keeps
 * it. Names are plain and relative ("a/b"), and no name comes twice:
 *
 *   no CAY.kind     a file, symbolic link or directory as it is now: new, or in place of what the base has; a
 *                   directory comes before what is in it
 *   kind "removed"  a file with a list (BASE NUL NAME NUL …) of what the base has and the workspace has no
 *                   more, down to everything below a directory that went or became something else. There may
 *                   be several, each named "removed"; a list costs a tenth of what headers would
 *
 * CAY.base says what the base had under the name when the set was made, so that whoever applies the set later
 * can tell whether that is still there: TYPE:MODE:SIZE:MTIME:CTIME:INODE, times in nanoseconds, mode octal.
 * Without it the base had nothing there; "?" means that it could not be looked at.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/banned.h"
#include "foundation/tar/tar.h"

#define CAY_CHANGE_REMOVED "removed"

#define CAY_CHANGE_PATH_MAX 4095u           /* bytes of a name: what a system call takes */
#define CAY_CHANGE_NAME_MAX 255u            /* bytes of one component */
#define CAY_CHANGE_LIST_MAX (64u * 1024)    /* bytes of one list */
#define CAY_CHANGE_ENTRIES_MAX 1000000u     /* in one set, those of lists counted */
#define CAY_CHANGE_NAMES_MAX (128ull << 20) /* bytes of all names and link targets of one set together */

enum cay_change_type {
        CAY_CHANGE_NONE,    /* the base has nothing there */
        CAY_CHANGE_UNKNOWN, /* it could not be looked at */
        CAY_CHANGE_FILE,
        CAY_CHANGE_DIRECTORY,
        CAY_CHANGE_SYMLINK,
        CAY_CHANGE_OTHER,
};

struct cay_change_base {
        enum cay_change_type type; /* the rest is 0 for NONE and UNKNOWN */
        uint32_t mode;             /* the lowest 12 bits */
        uint64_t size, ino;
        int64_t mtime_ns, ctime_ns;
};

struct stat;

/* What lstat says of an entry. Times beyond what 64 bits hold are clamped. */
void cay_change_base_of(const struct stat *st, struct cay_change_base *ret);
/* Writes the record; "" for NONE. Returns its length. */
unsigned cay_change_base_format(const struct cay_change_base *base, char ret[CAY_TAR_BASE_MAX + 1]);
/* Reads it, strictly: what _format would not have written is -EINVAL. NULL and "" are NONE. */
int cay_change_base_parse(const char *text, struct cay_change_base *ret);

/* A name as the set may have it: plain, relative, not too long. */
bool cay_change_path_is_valid(const char *path);
