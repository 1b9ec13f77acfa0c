/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a sandbox used in the last half hour, for curves: at most one point every CAY_HISTORY_STEP_MS, the
 * newest CAY_HISTORY_POINTS of them.
 *
 * Theory of operation. The tick asks the engine for the figures of a sandbox whose next point is due. Every
 * answer that is due becomes a point, whoever asked for it. A sandbox without running commands is asked less
 * often. The first point comes one step after the start, so short-lived sandboxes cost nothing. Memory is
 * allocated with the first point, for at most CAY_HISTORY_OWNER_MAX sandboxes of an owner and CAY_HISTORY_MAX
 * in all; others have no history. Nothing is stored: a new front starts empty.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "domain/model/port_engine.h"

#define CAY_HISTORY_POINTS 120u
#define CAY_HISTORY_STEP_MS 15000u
#define CAY_HISTORY_IDLE_MS 60000u
#define CAY_HISTORY_MAX 256u
#define CAY_HISTORY_OWNER_MAX 64u

struct cay_history_point {
        uint64_t wall_ms;
        uint64_t memory_bytes;
        uint32_t cpu_milli, pids; /* processors used since the previous point, in thousandths */
        uint64_t rx_per_s, tx_per_s, loopback_per_s;
};

struct cay_history { /* zeroed */
        /* private */
        struct cay_history_point points[CAY_HISTORY_POINTS];
        unsigned count, next;
        uint64_t last_ms; /* monotonic; 0: nothing to compare with */
        uint64_t cpu_us, rx_bytes, tx_bytes, loopback_bytes;
};

/* Counters that are smaller than before belong to a restarted box: they count from 0. */
void cay_history_add(struct cay_history *h, uint64_t now_ms, uint64_t wall_ms,
                     const struct cay_engine_stats *stats);
/* From the oldest, 0, to the newest; NULL after that. */
const struct cay_history_point *cay_history_at(const struct cay_history *h, unsigned nr);

struct cay_service;
struct cay_viewer;
/* Of a sandbox, by id or name. NULL: none, or the viewer may not see it. Borrowed until the next round. */
const struct cay_history *cay_service_history(struct cay_service *s, const struct cay_viewer *v,
                                              const char *id);
