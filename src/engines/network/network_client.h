/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The network port over a link to cay-net (links/net/net_message.h).
 *
 * Theory of operation. A link is greeted and asked which sandboxes it has; then it is ready. What is known of
 * them is kept here, so that the port can say it without a question. When the link ends everything is
 * forgotten, since the next cay-net knows nothing of them; only the number of each sandbox's next log entry
 * is kept, so that numbers go on. A policy goes over as the bytes in a socket whose other end is closed: a
 * front may make no memory files.
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
/*
 * A connection of the daemon itself: a descriptor that becomes readable when its outcome is there, or -1.
 * Closing it ends the call. may_private: also to addresses that are not public, and to this host's own.
 */
int cay_network_client_dial(struct cay_network_broker *n, const char *host, uint16_t port, bool may_private,
                            struct cay_error *err);
/* The outcome: 0 and the connected socket; 1: not yet; -1: err. */
int cay_network_client_dialled(int call, int *ret_fd, struct cay_error *err);
void cay_network_client_free(struct cay_network_broker *n); /* accepts NULL */
