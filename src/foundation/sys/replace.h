/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Replaces a file atomically when the new one is complete, and leaves nothing otherwise. The new file is
 * written without a name where the kernel supports that (O_TMPFILE), else under a temporary name beside the
 * target (".cay-…"), which sys_replace_drop removes.
 */
#pragma once

#include <stdbool.h>

#include "foundation/base/banned.h"

struct sys_replace {
        int dir;       /* borrowed: the folder of the target */
        int fd;        /* owned: to write to, mode 0600; -1: closed */
        char temp[32]; /* its name; "" while it has none */
};

#define SYS_REPLACE_NONE ((struct sys_replace){ .dir = -1, .fd = -1 })

int sys_replace_open(struct sys_replace *r, int dir); /* 0 or -errno */
/*
 * Gives it the name in one step: readers see either the old file or the new one. exclusive: -EEXIST when the
 * name exists, else that file is replaced (a directory is not: -EISDIR). The descriptor stays open. 0, or
 * -errno and nothing has changed.
 */
int sys_replace_commit(struct sys_replace *r, const char *name, bool exclusive);
void sys_replace_drop(struct sys_replace *r); /* removes what was not committed; allowed when closed */
