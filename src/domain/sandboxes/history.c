/* SPDX-License-Identifier: Apache-2.0 */
/* Points in a ring. */
#include "domain/sandboxes/history.h"

#include <stddef.h>

/* Per second, over the time since the last point. */
static uint64_t rate(uint64_t *last, uint64_t now, uint64_t ms)
{
        uint64_t grown = now >= *last ? now - *last : now;

        *last = now;
        return ms > 0 ? grown * 1000 / ms : 0;
}

void cay_history_add(struct cay_history *h, uint64_t now_ms, uint64_t wall_ms,
                     const struct cay_engine_stats *stats)
{
        uint64_t ms = h->last_ms > 0 && now_ms > h->last_ms ? now_ms - h->last_ms : 0;
        struct cay_history_point *p = &h->points[h->next];
        uint64_t cpu;

        *p = (struct cay_history_point){ .wall_ms = wall_ms, .memory_bytes = stats->memory_bytes };
        p->pids = stats->pids < UINT32_MAX ? (uint32_t)stats->pids : UINT32_MAX;
        cpu = rate(&h->cpu_us, stats->cpu_us, ms) / 1000;
        p->cpu_milli = cpu < UINT32_MAX ? (uint32_t)cpu : UINT32_MAX;
        p->rx_per_s = rate(&h->rx_bytes, stats->rx_bytes, ms);
        p->tx_per_s = rate(&h->tx_bytes, stats->tx_bytes, ms);
        p->loopback_per_s = rate(&h->loopback_bytes, stats->loopback_bytes, ms);
        h->last_ms = now_ms;
        h->next = (h->next + 1) % CAY_HISTORY_POINTS;
        if (h->count < CAY_HISTORY_POINTS)
                h->count++;
}

const struct cay_history_point *cay_history_at(const struct cay_history *h, unsigned nr)
{
        if (nr >= h->count)
                return NULL;
        return &h->points[(h->next + CAY_HISTORY_POINTS - h->count + nr) % CAY_HISTORY_POINTS];
}
