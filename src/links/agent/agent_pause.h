/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How long whoever dials waits before the next try: doubled each time up to a ceiling, of which a random half
 * is left out, since many must not return at once. `tries` is the dialler's own: zeroed, counted here.
 */
#pragma once

#include <stdint.h>

#define AGENT_PAUSE_FIRST_MS 250u
#define AGENT_PAUSE_MOST_MS 30000u
#define AGENT_STEADY_MS 10000u /* a connection that lived so long was a good one: pauses begin small again */
#define AGENT_SHORT_TRIES 2u   /* the other side answers, so it is the network that cuts: at most a second */

uint32_t agent_pause_ms(unsigned *tries, uint32_t random);
/* A connection that was proven has ended after this time. */
void agent_pause_was_served(unsigned *tries, uint64_t lived_ms);
