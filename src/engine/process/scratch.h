/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A private folder for a box without a workspace of its own, removed with it. The folder is its own record: it is flocked
 * while its box lives, and a folder whose lock is free belongs to a run that died; the next engine removes it.
 *
 * One for a box with an id of its own (own_id.h) lies in a folder around it, which is root's, is named after the id, has the lock, and
 * lets others through but shows them nothing. So making that folder is taking the id, nobody in the box can take the lock, and
 * when it is found without one, its name says whose processes are to be ended before it goes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

#define CAY_SCRATCH_PATH 256

struct cay_scratch {
        int fd;      /* the folder, locked unless there is one around it; -1: none */
        int around;  /* locked; -1: none */
        uint32_t id; /* whose it is; 0: ours */
        char path[CAY_SCRATCH_PATH];
};

#define CAY_SCRATCH_NONE                                                                                     \
        {                                                                                                    \
                .fd = -1, .around = -1                                                                       \
        }

int cay_scratch_make(struct cay_scratch *s, struct cay_error *err);
/* With an id that nobody has, and which it is from now on. Needs root. */
int cay_scratch_make_with_id(struct cay_scratch *s, struct cay_error *err);
/* Removes up to `budget` entries: 1 when nothing is left (the folder and the lock are gone), 0 when there is more, -errno. */
int cay_scratch_remove(struct cay_scratch *s, unsigned budget);
void cay_scratch_close(struct cay_scratch *s); /* descriptors, and with them the lock; the folder stays */
/* Removes the folders of dead runs of this user, and ends what has their ids. Best effort: what fails now is met again next time. */
void cay_scratch_sweep(void);
