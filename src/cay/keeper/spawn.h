/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a child with descriptors at fixed numbers, an empty environment and nothing else. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "foundation/base/error.h"

#define CAY_SPAWN_FDS_MAX 24

struct cay_spawn {
        const char *dir, *program; /* dir/program */
        char *const *argv;         /* NULL-terminated */
        const int *fds;            /* land at 3, 4, … in this order; borrowed */
        unsigned fd_count;
        const sigset_t *mask; /* for the child */
        uint64_t data_max;    /* bytes that it may allocate, whatever happens; 0: no limit */
        bool goes_first; /* where memory runs out it is one of those that the kernel ends first, by size, as sandboxes are */
};

/* The pid, or -1 with err. A session of its own: the terminal's signals are the keeper's to handle. */
pid_t cay_spawn(const struct cay_spawn *s, struct cay_error *err);
