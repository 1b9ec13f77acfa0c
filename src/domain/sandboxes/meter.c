/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms. */
#include "domain/sandboxes/meter.h"

#include "foundation/base/clock.h"

const uint32_t cay_histogram_bounds_ms[CAY_METER_BUCKETS] = { 1,     2,     5,     10,    20,   50,
                                                              100,   200,   500,   1000,  2000, 5000,
                                                              10000, 30000, 60000, 300000 };

void cay_latency_add(struct cay_latency *l, uint64_t us)
{
        struct cay_histogram *h = &l->all;
        unsigned i = 0;

        while (i < CAY_METER_BUCKETS && us > (uint64_t)cay_histogram_bounds_ms[i] * 1000)
                i++;
        h->buckets[i]++;
        h->count++;
        h->sum_us += us;
        cay_window_add(&l->recent, cay_clock_ms(), us);
}
