/* SPDX-License-Identifier: Apache-2.0 */
#include "cay-net/bucket.h"

#define SECOND_NS 1000000000ull

void net_bucket_set(struct net_bucket *b, uint64_t rate, uint64_t burst, uint64_t now_ns)
{
        *b = (struct net_bucket){ .rate = rate, .burst = burst, .level = burst, .at_ns = now_ns };
}

uint64_t net_bucket_look(struct net_bucket *b, uint64_t now_ns)
{
        uint64_t passed = now_ns > b->at_ns ? now_ns - b->at_ns : 0, whole, more;

        if (b->rate == 0)
                return UINT64_MAX;
        if (passed >= SECOND_NS * 60) {
                b->level = b->burst;
                b->at_ns = now_ns;
                return b->level;
        }
        whole = passed / SECOND_NS * b->rate;
        more = (uint64_t)((unsigned __int128)(passed % SECOND_NS) * b->rate / SECOND_NS);
        if (whole + more == 0)
                return b->level; /* what passed counts next time */
        b->level = whole + more > b->burst - b->level ? b->burst : b->level + whole + more;
        b->at_ns = now_ns;
        return b->level;
}

void net_bucket_take(struct net_bucket *b, uint64_t tokens)
{
        if (b->rate != 0)
                b->level = tokens < b->level ? b->level - tokens : 0;
}
