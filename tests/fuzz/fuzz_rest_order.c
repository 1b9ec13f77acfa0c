/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders on a stream's way back: whatever comes is one plain struct within its limits, or refused in words.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/rest/rest_order.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Holds in every build, unlike assert. */
#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        __builtin_trap();                                                                    \
        } while (0)

#define MAX 4096u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        struct cay_rest_order o;
        struct cay_error err = { 0 };

        if (cay_rest_order_read(&o, (const char *)data, size, MAX, &err) < 0) {
                HOLDS(err.code == CAY_INVALID && err.msg[0]);
        } else {
                HOLDS(err.code == CAY_OK && o.input.len <= MAX);
                HOLDS(o.order.rows <= 65535 && o.order.cols <= 65535 && !o.order.rows == !o.order.cols);
                HOLDS(!o.order.signal || strlen(o.order.signal) <= 15);
        }
        cay_rest_order_done(&o);
        return 0;
}
