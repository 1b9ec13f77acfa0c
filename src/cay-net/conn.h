/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection of a sandbox: judged, connected, relayed.
 *
 * Theory of operation. It waits for one thing at a time:
 *
 *   HELLO       the client's first bytes, where its TLS server name has to be compared. They are looked at in
 *               the socket and stay there; the socket wakes us only when more have come (SO_RCVLOWAT), so a
 *               client that sends byte by byte costs one look each.
 *   RESOLVING   the real addresses of the name
 *   CONNECTING  the real server; its addresses are tried one after the other, each one judged right before
 *   RELAYING    bytes, both ways
 *
 * The address that is connected to is the one that was judged, so a name that changes its address between two
 * lookups gains nothing. Up to RELAYING there is a deadline. What is refused or cannot be reached is reset
 * (SO_LINGER 0), which a program sees at once.
 */
#pragma once

#include "cay-net/box.h"

#define NET_HELLO_MS 10000u
#define NET_REACH_MS 20000u
#define NET_QUEUE_MS 20u /* between two looks of one that waits for the rate of connections */
#define NET_TRY_MS 3000u /* of one address, where there are others */

/* Takes fd, an accepted connection. */
void net_conn_begin_take(struct net_box *b, int fd);
void net_conn_set_up_listener(
        int fd); /* its connections inherit how they are closed, and that they do not wait to be full */
/* Likewise, of a box without sockets: a stream to the proxy. One over the rate of connections waits. */
void net_conn_begin_proxied_take(struct net_box *b, int fd);
/* Ends it with a reset; it is logged with `why`. */
void net_conn_end(struct net_conn *c, unsigned verdict, const char *why);
void net_conn_judge_again(struct net_conn *c);     /* the policy has changed */
void net_conn_secrets_changed(struct net_conn *c); /* ends it if it has some */
void net_conn_go_on(struct net_conn *c);           /* a rate may let it */
struct net_conn *net_conn_next(const struct net_conn *c);
