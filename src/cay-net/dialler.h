/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections of the daemon itself, to agents of users' machines: the front opens no socket, and where
 * addresses are judged is here.
 *
 * Theory of operation. A call names a host and a port. Its addresses are looked up and tried one after the
 * other, each one judged right before, so a name that changes its address in between gains nothing. Without
 * may_private only public addresses that are not this host's own pass: the host was named by somebody who may
 * not reach what this daemon can. The connected socket goes to the front over the socket that came with the
 * call, once; from then on it is nothing of ours. When the front closes its end, the call ends.
 */
#pragma once

#include "cay-net/box.h"

#define NET_CALLS_MAX 64u /* at once */
#define NET_CALL_MS 20000u
#define NET_CALL_TRY_MS 5000u        /* of one address, where there are others */
#define NET_CALL_UNANSWERED_MS 30000 /* sent bytes that nobody acknowledges: the connection is dead */

struct net_call;

struct net_dialler {
        struct net_world *world; /* borrowed */
        struct net_call *calls;  /* owned */
        unsigned count;
};

/* Takes `to`. Whatever comes of it is said there. */
void net_dialler_begin_take(struct net_dialler *d, const struct net_dial_request *req, int to);
void net_dialler_done(struct net_dialler *d); /* before the resolver is freed */

/* For tests. NULL: it may be connected to; else why not, without the address of a name. */
const char *net_dialler_why_not(struct net_world *world, const char *host, bool may_private,
                                const struct cay_address *a, char text[NET_WHY]);
