/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The most that one sandbox may have (wire_ceiling), as the keeper tells the warden. It comes from the
 * operator's hard_* settings. Where one is not set, it is enough for everything that the other settings and
 * this machine allow. The keeper sends it, because the front is not trusted.
 */
#pragma once

#include "domain/settings/config.h"
#include "links/helper/message.h"

struct cay_machine { /* of this machine; 0: unknown */
        uint64_t memory_bytes, cpu_milli, disk_bytes;
};

void cay_machine_look(struct cay_machine *ret, int data_fd);
/* Pure. */
void cay_ceiling_make(const struct cay_config *c, const struct cay_machine *m, struct wire_ceiling *ret);
