/* SPDX-License-Identifier: Apache-2.0 */
/* Memory and descriptors against their bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "integration/link_cut/growth.h"

#define SETTLE_ROUNDS 2000u /* of ten milliseconds */

/*
 * How much a process may grow from before the command to any later time. The front: a ring and the buffers of
 * a stream. Init: a ring for each of IN, OUT and ERR (256 KiB each, as the window) and the buffers of a
 * stream (as much again). The warden keeps nothing of a relink. And how much higher the second half may be
 * than the first: what leaks a little with every cut shows there. A sanitizer holds back what was freed (up
 * to 256 MiB), so there only what never stops shows.
 */
static const struct {
        const char *name;
        uint64_t growth_kb, late_kb, growth_sanitized_kb;
} bounds[PROCESS_COUNT] = {
        [PROCESS_FRONT] = { "front", 4096, 512, 300000 },
        [PROCESS_WARDEN] = { "cay-warden", 512, 64, 32768 },
        [PROCESS_INIT] = { "cay-init", 1536, 256, 300000 },
};

void growth_begin(const struct rig *r, struct growth *g)
{
        *g = (struct growth){ 0 };
        for (unsigned i = 0; i < PROCESS_COUNT; i++)
                g->first[i] = rig_usage(r, i);
}

void growth_look(const struct rig *r, struct growth *g, bool is_middle)
{
        for (unsigned i = 0; i < PROCESS_COUNT; i++) {
                uint64_t *highest = g->is_late ? &g->late_kb[i] : &g->early_kb[i];
                uint64_t kb = rig_usage(r, i).memory_kb;

                *highest = kb > *highest ? kb : *highest;
                if (is_middle)
                        g->middle_kb[i] = kb;
        }
        g->is_late |= is_middle;
}

/* What a process still has to close (it answers first) is waited for. */
static struct usage last_usage(struct rig *r, unsigned i, unsigned fds)
{
        struct usage u = rig_usage(r, i);

        for (unsigned n = 0; n < SETTLE_ROUNDS && u.fds != fds; n++) {
                rig_round(r);
                u = rig_usage(r, i);
        }
        return u;
}

static void growth_check(struct rig *r, const struct growth *g, unsigned i)
{
        uint64_t bound = rig_is_sanitized() ? bounds[i].growth_sanitized_kb : bounds[i].growth_kb;
        uint64_t highest = g->early_kb[i] > g->late_kb[i] ? g->early_kb[i] : g->late_kb[i];
        struct usage last = last_usage(r, i, g->first[i].fds);

        print_message("%s: %llu KiB before, %llu in the middle, %llu after; at most %llu, then %llu\n",
                      bounds[i].name, (unsigned long long)g->first[i].memory_kb,
                      (unsigned long long)g->middle_kb[i], (unsigned long long)last.memory_kb,
                      (unsigned long long)g->early_kb[i], (unsigned long long)g->late_kb[i]);
        if (highest > g->first[i].memory_kb + bound)
                fail_msg("%s grew by more than %llu KiB", bounds[i].name, (unsigned long long)bound);
        if (!rig_is_sanitized() && g->late_kb[i] > g->early_kb[i] + bounds[i].late_kb)
                fail_msg("%s grows on and on", bounds[i].name);
        if (last.fds != g->first[i].fds)
                fail_msg("%s had %u descriptors and has %u", bounds[i].name, g->first[i].fds, last.fds);
}

void growth_end(struct rig *r, struct growth *g)
{
        growth_look(r, g, false);
        for (unsigned i = 0; i < PROCESS_COUNT; i++)
                growth_check(r, g, i);
}
