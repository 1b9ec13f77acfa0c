/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names into addresses, by the host's resolvers, on our own loop. The library (c-ares) is named in resolver.c
 * alone.
 *
 * Theory of operation. A lookup is owned by its caller and finished exactly once through its job, from the
 * loop; ending it early lets the library go on for nobody. When resolv.conf changes, new lookups go through a
 * new channel; the one before ends with its last lookup.
 */
#pragma once

#include <stdbool.h>

#include "domain/network/address.h"
#include "foundation/loop/loop.h"

#define NET_ADDRESSES_MAX 16u /* of one name that are kept */

struct net_resolver;
struct net_query; /* private */

struct net_lookup { /* zeroed */
        void (*on_done)(struct net_lookup *l);
        struct cay_address addresses[NET_ADDRESSES_MAX]; /* families by turns, the preferred one first */
        unsigned count;                                  /* 0: none, and `why` says it */
        const char *why;                                 /* static */
        struct net_query *query;                         /* private; NULL while none is under way */
};

/* path: of resolv.conf; borrowed for ever. NULL: no memory, or the library does not work. */
struct net_resolver *net_resolver_new(struct cay_loop *loop, const char *path);
void net_resolver_free(struct net_resolver *r); /* no lookup may be under way; accepts NULL */
void net_resolver_find(struct net_resolver *r, const char *name, struct net_lookup *l);
void net_lookup_end(struct net_lookup *l); /* on_done is not called any more; fine when none is under way */
