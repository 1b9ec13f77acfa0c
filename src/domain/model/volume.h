/* SPDX-License-Identifier: Apache-2.0 */
/* Named volumes of owners, which stay when sandboxes go. Plain values. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/id.h"

struct cay_volume {
        const char *engine; /* that keeps it; the caller's to set */
        char owner[CAY_NAME_MAX + 1], name[CAY_NAME_MAX + 1];
        int64_t created_s;               /* 0: unknown */
        bool is_measured;                /* the engine knows the next two */
        uint64_t size_bytes, used_bytes; /* what it may take of the host's disk at most, and takes now */
};

struct cay_volumes { /* the caller's; rows has room for max */
        struct cay_volume *rows;
        unsigned count, max;
        unsigned total; /* there are */
};
