/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network port over a link to cay-net (links/net/net_message.h).
 *
 * Theory of operation. A link is greeted and asked which sandboxes it has; then it is ready. What is known of them is kept here, so that the
 * port can say it without a question. When the link ends everything is forgotten, since the next cay-net knows nothing of them; only the
 * number of each sandbox's next log entry is kept, so that numbers go on. A policy goes over as the bytes in a socket
 * whose other end is closed: a front may make no memory files.
 */
#pragma once

#include "foundation/base/error.h"
#include "domain/model/port_network.h"

struct cay_loop;

/* Without a link: asked for anything it says so. */
int cay_network_client_new(struct cay_loop *loop, struct cay_network_broker **ret, struct cay_error *err);
/* Takes sock. The one before is let go; on_ready is told when this one is ready. */
int cay_network_client_open_take(struct cay_network_broker *n, int sock, struct cay_error *err);
/* Waits, at most this long, until it is ready or cannot become so: for start-up. */
void cay_network_client_await(struct cay_network_broker *n, int ms);
void cay_network_client_free(struct cay_network_broker *n); /* accepts NULL */
