/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections whose requests get a secret: cay-edge ends their TLS.
 *
 * Theory of operation. Such a connection is judged, looked up and connected like any other. When it is up,
 * the server's socket goes to cay-edge with one end of a stream, and the other end takes its place here: the
 * bytes between the program and that stream are still ours to relay, count, hold back and cut off. cay-edge
 * is started before this program gives up starting programs; when it ends, so do we, and whoever starts us
 * starts both.
 */
#pragma once

#include "cay-net/box.h"

#define NET_EDGE_BOX_MAX 32u /* connections of one sandbox at once: each is a process */

struct net_edge;

struct net_edge_wait { /* embedded; zeroed */
        /* Set by who asks; borrowed until it is told, or has ended the wait. */
        struct net_box *box;
        const char *name;
        uint64_t number;
        int *fd; /* the server's socket; the stream's end once it is handed over */
        /* Once, from the loop: 0, or -1 and why. */
        void (*on_done)(struct net_edge_wait *w, int r, const char *why);

        struct net_edge_wait *next; /* private */
        bool is_queued;
};

/*
 * First of all, while this process may still start one: program is its path, id what it becomes. Returns the
 * link, or -1.
 */
int net_edge_start(const char *program, unsigned id, struct cay_error *err);
struct net_edge *net_edge_new_take(struct net_world *world, int link); /* NULL: no memory */
void net_edge_free(struct net_edge *e);                                /* accepts NULL */

bool net_edge_has(const struct net_box *b, const char *name, uint16_t port); /* there is a secret for it */
/*
 * Hands the server's socket over. 0: it has been; 1: cay-edge has as many orders as its socket holds, on_done
 * tells when it takes this one; -1: why says what to tell.
 */
int net_edge_hand_over(struct net_edge_wait *w, char why[NET_WHY]);
void net_edge_wait_end(struct net_edge_wait *w); /* nobody waits any more; fine for one that does not wait */
/* The box's secrets are these now (taken; may be NULL); connections that were made with the old ones end. */
void net_edge_change_take(struct net_box *b, struct cay_net_secrets *secrets);
void net_edge_forget(struct net_box *b); /* it ends */
