/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Port: the current time, so that tests can set it. Never fails, never blocks, may be called from any thread.
 */
#pragma once

#include <stdint.h>

#define CAY_CLOCK_BOOT_MAX 40

struct cay_clock_reading {
        uint64_t wall_ms; /* since 1970; may jump */
        uint64_t boot_ms; /* since the machine started, suspended time included; never goes back */
        char boot_id[CAY_CLOCK_BOOT_MAX]; /* identifies this boot of the machine; "" when unknown */
};

struct cay_clock {
        void (*read)(const struct cay_clock *clock, struct cay_clock_reading *ret);
};
