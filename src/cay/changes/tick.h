/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The moment from which on a change to a file can be told by the file's own times.
 *
 * The kernel stamps files with a clock that stands still between ticks (1 to 10 ms) and stays behind, or (since Linux 6.13, now and then)
 * with the exact time. So a moment divides changes only if the slow clock has passed the exact time that was read before it: what was
 * changed earlier has a smaller time by either clock, what is changed later a greater one.
 */
#pragma once

#include <stdint.h>

/* Waits until the slow clock is there (10 ms at most, as kernels are). Changes before the call are older than what it returns. */
int64_t cay_tick_await(void); /* nanoseconds of the wall clock */
