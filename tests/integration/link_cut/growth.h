/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the front, the warden and init use before, while and after the link is cut, and how much of it is too
 * much.
 */
#pragma once

#include "integration/link_cut/rig.h"

struct growth {
        struct usage first[PROCESS_COUNT];
        uint64_t early_kb[PROCESS_COUNT], late_kb[PROCESS_COUNT],
                middle_kb[PROCESS_COUNT]; /* the highest of each half */
        bool is_late;
};

void growth_begin(const struct rig *r, struct growth *g);
void growth_look(const struct rig *r, struct growth *g, bool is_middle);
void growth_end(struct rig *r, struct growth *g); /* fails the test if anything grew, descriptors included */
