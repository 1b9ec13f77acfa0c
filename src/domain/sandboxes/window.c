/* SPDX-License-Identifier: Apache-2.0 */
/* The times of the last hour; window.h has the rules. */
#include "domain/sandboxes/window.h"

#include <string.h>

#define MINUTE_MS 60000u
#define FIRST_SHIFT 6u /* 64 µs */
#define PART_SHIFT 3u  /* 8 parts */

static unsigned bucket_of(uint64_t us)
{
        unsigned shift;

        if (us < 1u << FIRST_SHIFT)
                return (unsigned)(us >> (FIRST_SHIFT - PART_SHIFT));
        shift = 63u - (unsigned)__builtin_clzll(us);
        if (shift >= FIRST_SHIFT + CAY_WINDOW_OCTAVES)
                return CAY_WINDOW_BUCKETS - 1;
        return CAY_WINDOW_PARTS * (shift - FIRST_SHIFT + 1) +
               (unsigned)(us >> (shift - PART_SHIFT)) % CAY_WINDOW_PARTS;
}

static uint64_t lower_bound(unsigned bucket)
{
        unsigned octave = bucket / CAY_WINDOW_PARTS, part = bucket % CAY_WINDOW_PARTS;

        if (octave == 0)
                return (uint64_t)part << (FIRST_SHIFT - PART_SHIFT);
        return (uint64_t)(CAY_WINDOW_PARTS + part) << (FIRST_SHIFT - PART_SHIFT + octave - 1);
}

void cay_window_add(struct cay_window *w, uint64_t now_ms, uint64_t us)
{
        uint64_t stamp = now_ms / MINUTE_MS + 1;
        struct cay_window_minute *m = &w->minutes[stamp % CAY_WINDOW_MINUTES];

        if (m->stamp != stamp) {
                memset(m, 0, sizeof(*m));
                m->stamp = stamp;
        }
        m->buckets[bucket_of(us)]++;
        m->count++;
        if (us > m->max_us)
                m->max_us = us;
}

static const struct cay_window_minute *find(const struct cay_window *w, uint64_t now_ms, unsigned ago)
{
        uint64_t now = now_ms / MINUTE_MS + 1;
        const struct cay_window_minute *m;

        if (ago >= CAY_WINDOW_MINUTES || ago >= now)
                return NULL;
        m = &w->minutes[(now - ago) % CAY_WINDOW_MINUTES];
        return m->stamp == now - ago ? m : NULL;
}

static void add_up(struct cay_window_minute *sum, const struct cay_window_minute *m)
{
        for (unsigned i = 0; i < CAY_WINDOW_BUCKETS; i++)
                sum->buckets[i] += m->buckets[i];
        sum->count += m->count;
        if (m->max_us > sum->max_us)
                sum->max_us = m->max_us;
}

static uint64_t quantile(const struct cay_window_minute *m, unsigned percent)
{
        uint64_t rank = (m->count * percent + 99) / 100, before = 0, low, width, value;
        unsigned i = 0;

        while (i < CAY_WINDOW_BUCKETS - 1 && before + m->buckets[i] < rank)
                before += m->buckets[i++];
        low = lower_bound(i);
        width = i < CAY_WINDOW_BUCKETS - 1 ? lower_bound(i + 1) - low
                                           : (m->max_us > low ? m->max_us - low : 0);
        value = m->buckets[i] > 0 ? low + width * (rank - before) / m->buckets[i] : low;
        return value < m->max_us ? value : m->max_us;
}

static void fill(const struct cay_window_minute *m, struct cay_window_figures *ret)
{
        *ret = (struct cay_window_figures){ .count = m->count, .max_us = m->max_us };
        if (m->count > 0) {
                ret->p50_us = quantile(m, 50);
                ret->p99_us = quantile(m, 99);
        }
}

void cay_window_hour(const struct cay_window *w, uint64_t now_ms, struct cay_window_figures *ret)
{
        struct cay_window_minute sum = { 0 };
        const struct cay_window_minute *m;

        for (unsigned ago = 0; ago < CAY_WINDOW_MINUTES; ago++) {
                m = find(w, now_ms, ago);
                if (m)
                        add_up(&sum, m);
        }
        fill(&sum, ret);
}

bool cay_window_minute(const struct cay_window *w, uint64_t now_ms, unsigned ago,
                       struct cay_window_figures *ret)
{
        const struct cay_window_minute *m = find(w, now_ms, ago);

        if (m)
                fill(m, ret);
        return m != NULL;
}
