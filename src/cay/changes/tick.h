/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The moment from which a change to a file can be recognised by the file's own times.
 *
 * The kernel stamps files with a coarse clock, which stands still between ticks (1 to 10 ms) and lags, or
 * (since Linux 6.13, sometimes) with the exact time. So a moment separates changes only if the coarse clock
 * has passed the exact time read before it. Earlier changes then have a smaller time by either clock, later
 * ones a greater one.
 */
#pragma once

#include <stdint.h>

/*
 * Waits until the coarse clock is there (at most 10 ms on usual kernels). Changes before the call are older
 * than the result.
 */
int64_t cay_tick_await(void); /* nanoseconds of the wall clock */
