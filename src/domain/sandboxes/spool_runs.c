/* SPDX-License-Identifier: Apache-2.0 */
/* The runs of a spool: found by cursor, even when some are damaged. */
#include <errno.h>
#include <stddef.h>

#include "foundation/base/crc32c.h"
#include "domain/sandboxes/spool_priv.h"

#define AT_ONCE 64u

struct good { /* a run whose sum is right */
        uint64_t run, start;
        unsigned stream;
};

static uint32_t sum_of(const struct cay_spool_run *run, uint64_t number)
{
        return cay_crc32c((uint32_t)(number >> 32), run, offsetof(struct cay_spool_run, sum));
}

void cay_spool_run_fill(struct cay_spool_run *run, uint64_t number, uint64_t start, unsigned stream)
{
        run->word = start << CAY_SPOOL_RUN_STREAM_BITS | stream;
        run->number = (uint32_t)number;
        run->sum = sum_of(run, number);
}

static bool is_good(const struct cay_spool *sp, const struct cay_spool_run *run, uint64_t number)
{
        return run->number == (uint32_t)number && run->sum == sum_of(run, number) &&
               run->word >> CAY_SPOOL_RUN_STREAM_BITS < sp->end;
}

/* The first intact one of [from, to), which mostly is the first. */
static bool find_good(const struct cay_spool *sp, uint64_t from, uint64_t to, struct good *ret)
{
        struct cay_spool_run runs[AT_ONCE];
        unsigned count = 1;

        for (; from < to; from += count, count = AT_ONCE) {
                if (count > to - from)
                        count = (unsigned)(to - from);
                if (cay_spool_runs_read(sp, from, runs, count) < 0) {
                        if (count == 1)
                                continue;
                        count = 1; /* the file ends in that range */
                        if (cay_spool_runs_read(sp, from, runs, 1) < 0)
                                continue;
                }
                for (unsigned i = 0; i < count; i++) {
                        if (!is_good(sp, &runs[i], from + i))
                                continue;
                        ret->run = from + i;
                        ret->start = runs[i].word >> CAY_SPOOL_RUN_STREAM_BITS;
                        ret->stream = (unsigned)(runs[i].word & 1);
                        return true;
                }
        }
        return false;
}

void cay_spool_runs_load(struct cay_spool *sp)
{
        struct good g;

        sp->second = UINT64_MAX;
        if (sp->run_first == sp->run_end)
                return;
        sp->stream = CAY_SPOOL_STREAMS; /* then the next bytes begin a new one */
        sp->last = sp->end;
        if (find_good(sp, sp->run_end - 1, sp->run_end, &g)) {
                sp->stream = g.stream;
                sp->last = g.start;
        }
        if (sp->run_end - sp->run_first < 2)
                return;
        if (find_good(sp, sp->run_first + 1, sp->run_end, &g)) {
                sp->run_first = g.run - 1;
                sp->second = g.start;
        } else {
                sp->run_first = sp->run_end - 1;
        }
}

void cay_spool_runs_find_second(const struct cay_spool *sp, struct cay_spool *next)
{
        struct good g;

        next->second = UINT64_MAX;
        if (next->run_end - next->run_first < 2)
                return;
        if (find_good(sp, next->run_first + 1, sp->run_end, &g)) {
                next->run_first = g.run - 1;
                next->second = g.start;
        } else if (next->run_end >
                   sp->run_end) { /* the newest is not in the header yet: it starts at the old end */
                next->run_first = sp->run_end - 1;
                next->second = sp->end;
        } else {
                next->run_first = next->run_end - 1;
        }
}

/*
 * Mostly the run of the last read, or the one after it. Returns 1; otherwise sets the known bounds of the
 * search.
 */
static bool guess(const struct cay_spool *sp, const struct cay_spool_place *place, struct good *low,
                  bool *has_low, struct good *high)
{
        struct good g;

        if (place->run < sp->run_first || place->run >= sp->run_end ||
            !find_good(sp, place->run, place->run + 1, &g) || g.start > place->at)
                return false;
        *low = g;
        *has_low = true;
        for (uint64_t run = place->run + 1; run < sp->run_end && run <= place->run + 2; run++) {
                if (!find_good(sp, run, run + 1, &g))
                        return false;
                if (g.start > place->at) {
                        *high = g;
                        return true;
                }
                *low = g;
        }
        return low->run + 1 == sp->run_end;
}

/*
 * Binary search: `low` is the last intact run known to start at or before the cursor, `high` the first known
 * to start after it; all of [open, high) are damaged.
 */
static void search(const struct cay_spool *sp, uint64_t at, struct good *low, bool *has_low,
                   struct good *high)
{
        uint64_t from = *has_low ? low->run + 1 : sp->run_first, open = high->run;

        while (from < open) {
                uint64_t mid = from + (open - from) / 2;
                struct good g;

                if (!find_good(sp, mid, open, &g)) {
                        open = mid;
                } else if (g.start <= at) {
                        *low = g;
                        *has_low = true;
                        from = g.run + 1;
                } else {
                        *high = g;
                        open = mid;
                }
        }
}

int cay_spool_runs_find(const struct cay_spool *sp, struct cay_spool_place *place, uint64_t *ret_next,
                        unsigned *ret_stream)
{
        struct good low = { 0 }, high = { .run = sp->run_end, .start = sp->end };
        bool has_low = false;

        if (place->at >= sp->last) { /* saves a read */
                place->run = sp->run_end - 1;
                *ret_next = sp->end;
                *ret_stream = sp->stream;
                return 0;
        }
        if (!guess(sp, place, &low, &has_low, &high))
                search(sp, place->at, &low, &has_low, &high);
        *ret_next = high.start;
        if (!has_low || high.run != low.run + 1)
                return -EBADMSG;
        place->run = low.run;
        *ret_stream = low.stream;
        return 0;
}
