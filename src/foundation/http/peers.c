/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Open addressing, at most half full. Removing moves later entries of the same run back, so there are no
 * tombstones.
 */
#include "foundation/http/peers.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>

int cay_peers_init(struct cay_peers *p, unsigned connections)
{
        unsigned size = 16;

        while (size < connections * 2)
                size *= 2;
        p->slots = calloc(size, sizeof(*p->slots));
        p->mask = size - 1;
        return p->slots ? 0 : -ENOMEM;
}

void cay_peers_done(struct cay_peers *p)
{
        free(p->slots);
        *p = (struct cay_peers){ 0 };
}

uint64_t cay_peers_key(const struct sockaddr *address, uid_t uid)
{
        uint64_t prefix;

        switch (address->sa_family) {
        case AF_INET:
                return (uint64_t)4 << 56 |
                       ((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr;
        case AF_INET6:
                memcpy(&prefix, &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr,
                       sizeof(prefix));
                return prefix ? prefix : (uint64_t)6 << 56; /* ::1 and its like */
        default:
                return (uint64_t)1 << 56 | uid;
        }
}

static unsigned home(const struct cay_peers *p, uint64_t key)
{
        return (unsigned)(key * 0x9e3779b97f4a7c15u >> 32) & p->mask;
}

/* The key's slot, or the free one where it would be. */
static unsigned find(const struct cay_peers *p, uint64_t key)
{
        unsigned i = home(p, key);

        while (p->slots[i].key != 0 && p->slots[i].key != key)
                i = (i + 1) & p->mask;
        return i;
}

unsigned cay_peers_count(const struct cay_peers *p, uint64_t key)
{
        return p->slots[find(p, key)].count;
}

void cay_peers_add(struct cay_peers *p, uint64_t key)
{
        struct cay_peers_slot *slot = &p->slots[find(p, key)];

        slot->key = key;
        slot->count++;
}

/* Fills the hole at i with entries that could not be found any more because of it. */
static void close_hole(struct cay_peers *p, unsigned i)
{
        for (unsigned k = (i + 1) & p->mask; p->slots[k].key != 0; k = (k + 1) & p->mask) {
                unsigned way = (k - home(p, p->slots[k].key)) & p->mask;

                if (way < ((k - i) & p->mask))
                        continue;
                p->slots[i] = p->slots[k];
                i = k;
        }
        p->slots[i] = (struct cay_peers_slot){ 0 };
}

void cay_peers_drop(struct cay_peers *p, uint64_t key)
{
        unsigned i = find(p, key);

        assert(p->slots[i].count > 0);
        if (--p->slots[i].count == 0)
                close_hole(p, i);
}
