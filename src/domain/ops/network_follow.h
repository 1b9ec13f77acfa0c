/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of a sandbox's network as a stream of events: what is kept from a number on (0: the last ones),
 * then new ones. An event's id is its number.
 */
#pragma once

#include "domain/ops/op.h"

/* Takes the call over. */
void cay_op_network_follow(struct cay_op_call *c, const char *id, uint64_t from);
