/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Init's side of the box link (docs/box-link.md): which frame means what, on whichever stream the engine gave
 * last.
 */
#pragma once

#include "cay-init/init.h"

void cay_link_init(struct cay_init *init);
int cay_link_take(struct cay_init *init,
                  int fd); /* the next stream; it replaces the previous one. 0 or -errno */
bool cay_link_is_finished(const struct cay_init *init); /* a one-shot box has sent all of its END */
