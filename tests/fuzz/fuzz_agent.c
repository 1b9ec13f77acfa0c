/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the agent link, from either side: what is read must be written as the same bytes. */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "links/agent/agent_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static const enum agent_side sides[] = { AGENT_AGENT, AGENT_DAEMON };
        uint8_t again[AGENT_SMALL_MAX];
        struct agent_message m;

        for (unsigned i = 0; i < 2; i++) {
                int r = agent_message_read(data, size, sides[i], &m), n;

                if (r < 0 && r != -EPROTO)
                        abort();
                if (r < 0)
                        continue;
                n = agent_message_write(&m, again, sizeof(again));
                if (n < 0 || (size_t)n > size || memcmp(again, data, (size_t)n) != 0)
                        abort();
                if (m.type == AGENT_hello && m.hello.version > AGENT_VERSION)
                        continue; /* what a later version has behind it is not read */
                if (m.type == AGENT_data ? n + m.data.len != size : (size_t)n != size)
                        abort();
        }
        return 0;
}
