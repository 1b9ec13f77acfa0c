/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Deadlines of tests are there to end what hangs; nothing is measured by them. CAY_TEST_PATIENCE says how
 * many times longer to wait than a machine with nothing else to do needs: most have something else to do at
 * times, and that of `make test-vm` is emulated.
 */
#pragma once

#include <stdlib.h>

static inline unsigned test_patience(unsigned ms)
{
        const char *times = getenv("CAY_TEST_PATIENCE");
        unsigned long n = times ? strtoul(times, NULL, 10) : 4;

        return n >= 1 && n <= 100 ? ms * (unsigned)n : ms;
}
