/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Private networks: sandboxes of one owner that reach each other by name, HOST.NETWORK.internal.
 *
 * Theory of operation. A sandbox is a member of the network that its policy names, with its owner; only both
 * together make a network, so nobody reaches another owner's. How a connection enters the other sandbox: its
 * set-up made a few TCP sockets in its namespace (dials) and handed them over with the rest; connecting one
 * of these connects inside that namespace. A dial is used again: disconnected (connect to AF_UNSPEC) it is as
 * new. So nobody needs rights in a sandbox's namespace, and no process stays there. What is connected to is
 * the sandbox's own address, not its loopback: what it serves on loopback stays its own.
 */
#pragma once

#include "cay-net/box.h"

#define NET_DIAL_DRAIN_MS 10000u /* until what the other sandbox did not take is given up */

bool net_member_is_name(const struct net_box *b,
                        const char *name); /* of the network that it is a member of */
/* NULL: there is none, or more than one; why may be NULL. */
struct net_box *net_member_find(const struct net_box *b, const char *name, const char **ret_why);

/* By a rule of b for either of its names, whichever was asked for. */
bool net_member_is_denied(const struct net_box *b, const struct net_box *m, uint16_t port);

/*
 * Takes fds: the sockets of a member; none of one that is no member. -1: not what they should be; err says
 * so.
 */
int net_member_join_take(struct net_box *b, const int *fds, unsigned count, struct cay_error *err);
void net_member_end_guests(struct net_box *b, const char *why); /* connections of others into it */
void net_member_leave(struct net_box *b);

/* A dial that nobody uses, connecting to the port. NULL: *ret_errno says why, 0: all are in use. */
struct net_dial *net_member_dial(struct net_box *target, struct net_conn *user, uint16_t port,
                                 int *ret_errno);
/* Its watch is removed before. resets: what was not taken yet is thrown away. */
void net_member_give_back(struct net_dial *d, bool resets);
