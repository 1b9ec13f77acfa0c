/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Channels of kind ACCEPT: each is the next connection to a port of the box's own loopback, on which init
 * listens.
 *
 * Theory of operation. The front opens channels ahead. They wait, and each gets one connection, in the order
 * of their numbers; then it says OPENED. While none waits, connections wait in the kernel. There is no
 * process in between: the channel's pump reads from the socket, its feed writes to it. Each direction ends on
 * its own. It is the way out where an engine cannot hand over the sockets of a box's network namespace.
 */
#pragma once

#include "cay-init/channel.h"

void cay_accept_begin(struct cay_channel *ch, uint16_t port); /* a failure becomes its END */
void cay_accept_step(struct cay_channel *ch);                 /* ends it when both directions have ended */
void cay_accept_close(struct cay_channel *ch); /* by the front: whatever is under way is cut off */
