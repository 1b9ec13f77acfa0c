/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in a volume, for clients that have the volume's token: folders and files.
 *
 * Theory of operation. Only sandboxes reach the files of a volume. So the first request makes one that has
 * the volume and runs nothing; it serves the requests that follow and ends when there were none for a minute.
 * It has a label, by which it is found, hidden from lists and ended before the volume is removed.
 *
 * The token names the owner, and a signature that is derived from the daemon's secret covers owner and
 * volume. It opens that volume, as long as the secret stays.
 */
#pragma once

#include "dialects/e2b/e2b_priv.h"

#define E2B_LABEL_VOLUME E2B_LABEL "volume"
#define E2B_VOLUME_TOKEN_MAX (64u + 2 * CAY_OWNER_MAX + 1)

void e2b_volume_token(const struct cay_op_world *world, const char *owner, const char *volume,
                      char ret[E2B_VOLUME_TOKEN_MAX]);
/* Ends the sandboxes that serve a volume of the caller, then calls `then`, in any case. */
void e2b_content_end(struct e2b_request *q, const char *volume, void (*then)(struct e2b_request *q));
