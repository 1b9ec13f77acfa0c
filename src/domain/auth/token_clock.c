/* SPDX-License-Identifier: Apache-2.0 */
/* A wall clock that never goes backwards. */

#include "domain/auth/token_clock.h"

void cay_token_clock_init(struct cay_token_clock *w, uint64_t wall_ms, uint64_t mono_ms, uint64_t floor_ms)
{
        *w = (struct cay_token_clock){ .shown_ms = wall_ms > floor_ms ? wall_ms : floor_ms,
                                       .mono_ms = mono_ms };
}

uint64_t cay_token_clock_now_ms(struct cay_token_clock *w, uint64_t wall_ms, uint64_t mono_ms)
{
        uint64_t elapsed_ms = mono_ms > w->mono_ms ? mono_ms - w->mono_ms : 0;

        if (wall_ms >= w->shown_ms) {
                w->shown_ms = wall_ms;
                w->mono_ms = mono_ms;
                return wall_ms;
        }
        /* An odd millisecond stays for the next call: frequent calls must not stop the clock. */
        w->shown_ms += elapsed_ms / 2;
        w->mono_ms += elapsed_ms / 2 * 2;
        return w->shown_ms;
}
