/* SPDX-License-Identifier: Apache-2.0 */
/* Waits for the clock that files are stamped with. */
#include "cay/changes/tick.h"

#include <time.h>

enum { NAP_NS = 200 * 1000, NAPS_MAX = 5000 };

static int64_t now_ns(clockid_t clock)
{
        struct timespec t;

        clock_gettime(clock, &t);
        return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

int64_t cay_tick_await(void)
{
        const struct timespec nap = { .tv_nsec = NAP_NS };
        int64_t exact = now_ns(CLOCK_REALTIME);

        for (unsigned i = 0; i < NAPS_MAX && now_ns(CLOCK_REALTIME_COARSE) <= exact; i++)
                nanosleep(&nap, NULL);
        return exact + 1;
}
