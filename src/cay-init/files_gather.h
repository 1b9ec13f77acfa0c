/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names in a folder, or in the whole tree below it, in order: the first step of a sorted listing and of a
 * search. A folder comes before its content. Memory and time are bounded; an incomplete result is marked as
 * such.
 */
#pragma once

#include "foundation/base/pattern.h"
#include "cay-init/files_walk.h"

#define CAY_GATHER_NAMES 50000u
#define CAY_GATHER_BYTES (8u * 1024 * 1024)

struct cay_files_gather {
        char **names; /* paths below the folder, in order */
        uint32_t count;
        uint64_t passed; /* number of omitted folders and names: unreadable or too deep */
        bool is_crowded; /* there are more than fit */
        bool is_late;    /* the deadline came first */
        /* own */
        char *mem;
        size_t len;
};

struct cay_files_gather_what {
        bool is_recursive, files_only;
        const struct cay_pattern *glob; /* NULL: all */
        uint64_t until_ms;              /* by the monotonic clock */
};

/* Consumes dir_fd (a directory open for reading). 0 or -errno; to be done with in both cases. */
int cay_files_gather_take(struct cay_files_gather *g, int dir_fd, const struct cay_files_gather_what *what);
void cay_files_gather_done(struct cay_files_gather *g);
