/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share. */
#pragma once

#include "foundation/base/arena.h"
#include "domain/templates/registry.h"

struct cay_registry {
        struct cay_arena mem;  /* owned: the tree and all texts */
        struct cay_arena seen; /* owned: what was read of other files */
        struct cay_template_set set;
        struct cay_template *rows; /* in mem; set.rows */
        unsigned *lines, *columns; /* in mem: where each template stands */
};
