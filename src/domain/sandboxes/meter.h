/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Counters since the service's start, of all or of one owner (meters.h), for metrics, and the times of the
 * last hour (window.h). Nothing here allocates.
 */
#pragma once

#include <stdint.h>

#include "domain/model/cause.h"
#include "domain/sandboxes/window.h"

#define CAY_METER_BUCKETS 16u

struct cay_histogram {                           /* times, on the monotonic clock; only grows */
        uint64_t buckets[CAY_METER_BUCKETS + 1]; /* per bucket, not cumulative; the last: beyond all bounds */
        uint64_t count, sum_us;
};

struct cay_latency {
        struct cay_histogram all; /* since the start */
        struct cay_window recent;
};

extern const uint32_t cay_histogram_bounds_ms[CAY_METER_BUCKETS]; /* upper bounds, rising */
void cay_latency_add(struct cay_latency *l, uint64_t us);         /* it is over now */

struct cay_service_meter {
        struct cay_latency create;     /* from the request for a sandbox to READY and stored; starts too */
        struct cay_latency exec_start; /* from the request for a command to its run */
        struct cay_latency exec_run;   /* how long ended commands ran */
        uint64_t creates, create_failures, execs; /* requested, starts included; failed; started */
        uint64_t exec_ends[CAY_CAUSE_COUNT];
        uint64_t exec_cpu_us; /* of commands that ended */
};
