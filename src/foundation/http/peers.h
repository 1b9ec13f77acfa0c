/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Number of connections of each peer: a fixed table of keys and counts, sized for the maximum of connections.
 */
#pragma once

#include <stdint.h>
#include <sys/socket.h>

#include "foundation/base/banned.h"

struct cay_peers {
        struct cay_peers_slot {
                uint64_t key; /* 0: free */
                unsigned count;
        } * slots; /* owned */
        unsigned mask;
};

int cay_peers_init(struct cay_peers *p, unsigned connections); /* 0 or -ENOMEM */
void cay_peers_done(struct cay_peers *p);
/* The key of a peer: an IPv4 address, an IPv6 /64, a unix uid. Never 0. */
uint64_t cay_peers_key(const struct sockaddr *address, uid_t uid);
unsigned cay_peers_count(const struct cay_peers *p, uint64_t key);
void cay_peers_add(struct cay_peers *p, uint64_t key); /* at most `connections` keys are in it at a time */
void cay_peers_drop(struct cay_peers *p, uint64_t key);
