/* SPDX-License-Identifier: Apache-2.0 */
/* Time from the kernel. The clocks asked for always exist, so there is no failure to report. */

#include "foundation/base/clock.h"

#include <time.h>

static uint64_t read_ns(clockid_t clock)
{
        struct timespec t = { 0 };

        clock_gettime(clock, &t);
        return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

uint64_t cay_clock_ns(void)
{
        return read_ns(CLOCK_MONOTONIC);
}

uint64_t cay_clock_ms(void)
{
        return read_ns(CLOCK_MONOTONIC) / 1000000;
}

uint64_t cay_clock_wall_ms(void)
{
        return read_ns(CLOCK_REALTIME) / 1000000;
}
