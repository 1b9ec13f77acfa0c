/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rate limits: a token bucket per key, in a table of fixed size.
 *
 * Theory of operation. A key's slot is one of the WAYS of a set. A keyed hash chooses the set, so that nobody
 * can aim at one. A bucket is evicted only when it is full again, because a new one would be equal to it:
 * evicting others resets nobody's limit. While a set has no such slot, new keys share one bucket of that set.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/error.h"

struct cay_rate;

struct cay_rate_config {
        uint64_t per_minute; /* 0: no limit */
        uint64_t burst;      /* how many at once; 0: a tenth of per_minute, at least 10 */
        unsigned keys;       /* size of the table; 0: 4,096 */
        uint8_t seed[16];    /* random */
};

struct cay_rate *cay_rate_new(const struct cay_rate_config *config); /* NULL: no memory */
void cay_rate_free(struct cay_rate *r);
CAY_DEFINE_AUTO(struct cay_rate, cay_rate_free)
/* Takes one token; false: none left; then the milliseconds until there is one (at least 1). */
bool cay_rate_take(struct cay_rate *r, const char *key, uint64_t mono_ms, uint64_t *ret_wait_ms);
