/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the warden is told that one sandbox may have at most (wire_ceiling), out of the operator's settings: hard_* where they are set, else enough
 * for everything that the other settings allow and that this machine has. It is the keeper who says so, because a front is not to be believed.
 */
#pragma once

#include "domain/settings/config.h"
#include "links/helper/message.h"

struct cay_machine { /* what there is; 0: not known */
        uint64_t memory_bytes, cpu_milli, disk_bytes;
};

void cay_machine_look(struct cay_machine *ret, int data_fd);
/* Pure. */
void cay_ceiling_make(const struct cay_config *c, const struct cay_machine *m, struct wire_ceiling *ret);
