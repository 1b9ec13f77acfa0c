/* SPDX-License-Identifier: Apache-2.0 */
/* Envelopes of Connect requests: what is taken is the whole body, and can be made again. */
#include <stdint.h>
#include <string.h>

#include "dialects/e2b/e2b_envelope.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        __builtin_trap();                                                                    \
        } while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        cay_auto_buf struct cay_buf again = { 0 };
        const char *payload;
        size_t len;

        if (e2b_envelope_read((const char *)data, size, &payload, &len) < 0)
                return 0;
        HOLDS(len + E2B_ENVELOPE_HEAD == size && payload == (const char *)data + E2B_ENVELOPE_HEAD);
        cay_buf_init(&again, size);
        HOLDS(e2b_envelope_put(&again, 0, payload, len) == 0);
        HOLDS(again.len == size && memcmp(cay_buf_data(&again), data, size) == 0);
        return 0;
}
