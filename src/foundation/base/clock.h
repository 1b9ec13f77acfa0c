/* SPDX-License-Identifier: Apache-2.0 */
/* Monotonic and wall time as plain numbers. */
#pragma once

#include <stdint.h>

uint64_t cay_clock_ns(void); /* CLOCK_MONOTONIC */
uint64_t cay_clock_ms(void); /* CLOCK_MONOTONIC */
uint64_t cay_clock_wall_ms(void);
