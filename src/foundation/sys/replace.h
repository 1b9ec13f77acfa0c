/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file that takes the place of another when it is whole, and leaves nothing when it is not: written without a name where the kernel has
 * that (O_TMPFILE), else under a name of its own beside the target (".cay-…"), which goes with sys_replace_drop.
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
 * Gives it the name, in one step: whoever opens it sees the old file or the new one. exclusive: -EEXIST when something has the name, else
 * that goes (a directory does not: -EISDIR). The descriptor stays open. 0 or -errno, then nothing has changed.
 */
int sys_replace_commit(struct sys_replace *r, const char *name, bool exclusive);
void sys_replace_drop(struct sys_replace *r); /* what was not committed goes; fine when closed */
