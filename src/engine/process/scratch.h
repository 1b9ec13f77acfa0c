/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A private folder for a box without a workspace of its own, removed with it. The folder is its own record: it is flocked
 * while its box lives, and a folder whose lock is free belongs to a run that died; the next engine removes it.
 */
#pragma once

#include <stdbool.h>

#include "base/error.h"

#define CAY_SCRATCH_PATH 256

struct cay_scratch {
        int fd; /* locked directory; -1: none */
        char path[CAY_SCRATCH_PATH];
};

int cay_scratch_make(struct cay_scratch *s, struct cay_error *err);
/* Removes up to `budget` entries: 1 when nothing is left (the folder and the lock are gone), 0 when there is more, -errno. */
int cay_scratch_remove(struct cay_scratch *s, unsigned budget);
/* Removes the folders of dead runs of this user. Best effort: what fails now is met again next time. */
void cay_scratch_sweep(void);
