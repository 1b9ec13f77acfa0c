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
        const int *fds;            /* become 3, 4, … in this order; borrowed */
        unsigned fd_count;
        const sigset_t *mask; /* umask for the child */
        uint64_t data_max;    /* bytes that it may allocate; 0: no limit */
        bool goes_first;      /* if memory runs out, the kernel picks among it and the sandboxes by size */
};

/* The pid, or -1 with err. The child gets its own session: the keeper handles the terminal's signals. */
pid_t cay_spawn(const struct cay_spawn *s, struct cay_error *err);
