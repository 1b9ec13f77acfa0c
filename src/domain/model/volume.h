/* SPDX-License-Identifier: Apache-2.0 */
/* Named volumes of owners, which stay when sandboxes go. Plain values. */
#pragma once

#include <stdint.h>

#include "foundation/base/id.h"

struct cay_volume {
        char owner[CAY_NAME_MAX + 1], name[CAY_NAME_MAX + 1];
        int64_t created_s; /* 0: unknown */
};

struct cay_volumes { /* the caller's; rows has room for max */
        struct cay_volume *rows;
        unsigned count, max;
        unsigned total; /* there are */
};
