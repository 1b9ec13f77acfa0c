/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time by which tokens expire: the wall clock, except that it never goes back.
 *
 * Forward jumps are accepted. When the wall clock is set back, this clock continues at half speed until the
 * wall clock has caught up. So an expired token stays expired, and a token made by somebody with the right
 * time expires early by at most the jump. Pure: the caller passes both clocks.
 */
#pragma once

#include <stdint.h>

struct cay_token_clock {
        uint64_t shown_ms; /* last result */
        uint64_t mono_ms;  /* when */
};

void cay_token_clock_init(struct cay_token_clock *w, uint64_t wall_ms, uint64_t mono_ms,
                          uint64_t floor_ms); /* floor: the last result of an earlier process, 0 if unknown */
uint64_t cay_token_clock_now_ms(struct cay_token_clock *w, uint64_t wall_ms, uint64_t mono_ms);
