/* SPDX-License-Identifier: Apache-2.0 */
#include "links/agent/agent_pause.h"

uint32_t agent_pause_ms(unsigned *tries, uint32_t random)
{
        uint32_t most = AGENT_PAUSE_FIRST_MS << (*tries < 7 ? *tries : 7);

        if (most > AGENT_PAUSE_MOST_MS)
                most = AGENT_PAUSE_MOST_MS;
        if (*tries < 7)
                (*tries)++;
        return most / 2 + random % (most / 2 + 1);
}

void agent_pause_was_served(unsigned *tries, uint64_t lived_ms)
{
        unsigned most = lived_ms >= AGENT_STEADY_MS ? 0 : AGENT_SHORT_TRIES;

        if (*tries > most)
                *tries = most;
}
