/* SPDX-License-Identifier: Apache-2.0 */
/* How the network of a sandbox looks to clients. */
#pragma once

#include "domain/ops/op.h"

#define CAY_OP_NETWORK_COLUMNS                                                                               \
        "network=network allow=allow deny=deny private_network=private_network private_name=private_name "   \
        "sent=up_bytes received=down_bytes open_now=connections "                                            \
        "connections=connections_all refused=refused names_asked_for=queries names_refused=queries_refused"

extern const struct cay_result_table cay_result_network;
/*
 * Answers a call, whose first argument is the sandbox's id, with how its network is now: cay_result_network.
 */
void cay_op_network_answer(struct cay_op_call *c);
void cay_op_put_network_entry(struct cay_json *j,
                              const struct cay_network_entry *e); /* members of an open object */
