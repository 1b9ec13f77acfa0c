/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Times of the last hour, for quantiles. A ring of minutes, each with buckets an eighth of their own value wide, so a quantile is off by
 * that at most, whatever its size; within a bucket it is taken for evenly spread. What is older than an hour is never counted: a minute's
 * place is emptied when the next one that falls on it is written, and left out when it is read before that. Fixed memory, nothing allocates,
 * and a minute in which nothing happened costs nothing. The clock is the caller's, monotonic.
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
/* Of one of them, so many minutes ago; false: nothing happened in it. */
bool cay_window_minute(const struct cay_window *w, uint64_t now_ms, unsigned ago,
                       struct cay_window_figures *ret);
