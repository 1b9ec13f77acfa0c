/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of the last hour, for quantiles. A ring of minutes, each with buckets an eighth of their value wide,
 * so a quantile is off by at most that. Values are taken as evenly spread within a bucket. Anything older
 * than an hour is never counted: a minute's slot is emptied when it is reused, and skipped when it is read
 * before that. Memory is fixed, nothing allocates, and a minute without events costs nothing. The caller
 * passes a monotonic clock.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CAY_WINDOW_MINUTES 60u
#define CAY_WINDOW_PARTS 8u    /* buckets for each doubling */
#define CAY_WINDOW_OCTAVES 24u /* from 64 µs on; below, buckets are 8 µs wide */
#define CAY_WINDOW_BUCKETS                                                                                   \
        (CAY_WINDOW_PARTS * (CAY_WINDOW_OCTAVES + 1) + 1) /* the last: 18 minutes or more */

struct cay_window {
        struct cay_window_minute {
                uint64_t stamp; /* its minute of the clock, plus 1; 0: never written */
                uint64_t count, max_us;
                uint32_t buckets[CAY_WINDOW_BUCKETS];
        } minutes[CAY_WINDOW_MINUTES];
};

struct cay_window_figures {
        uint64_t count;
        uint64_t p50_us, p99_us, max_us; /* 0 without a count */
};

void cay_window_add(struct cay_window *w, uint64_t now_ms, uint64_t us);
/* Of the current minute and the 59 before it. */
void cay_window_hour(const struct cay_window *w, uint64_t now_ms, struct cay_window_figures *ret);
/* Of the minute so many minutes ago; false: nothing happened in it. */
bool cay_window_minute(const struct cay_window *w, uint64_t now_ms, unsigned ago,
                       struct cay_window_figures *ret);
