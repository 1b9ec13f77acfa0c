/* SPDX-License-Identifier: Apache-2.0 */
/* A token bucket: so much per second, with a burst that may be used at once. Time is given by the caller. */
#pragma once

#include <stdint.h>

struct net_bucket {
        uint64_t rate;  /* tokens per second; 0: no limit */
        uint64_t burst; /* most that it holds */
        uint64_t level; /* tokens in it */
        uint64_t at_ns; /* when the level was right */
};

void net_bucket_set(struct net_bucket *b, uint64_t rate, uint64_t burst, uint64_t now_ns); /* full */
uint64_t net_bucket_look(struct net_bucket *b,
                         uint64_t now_ns); /* what can be taken; UINT64_MAX without a limit */
void net_bucket_take(struct net_bucket *b, uint64_t tokens); /* more than there are: it is empty */
