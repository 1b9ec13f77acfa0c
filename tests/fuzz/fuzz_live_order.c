/* SPDX-License-Identifier: Apache-2.0 */
/* What a viewer of a browser says: refused with words, or an order within its bounds, whatever comes. */
#include <stdint.h>
#include <string.h>

#include "domain/browser/live_order.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Holds in every build, unlike assert. */
#define HOLDS(condition)                                                                                     \
        do {                                                                                                 \
                if (!(condition))                                                                            \
                        __builtin_trap();                                                                    \
        } while (0)

static int is_near(int n, int least)
{
        return n >= least && n <= CAY_LIVE_FAR;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
        static struct cay_live_order o;
        struct cay_error err = { 0 };

        if (cay_live_order_read((const char *)data, size, &o, &err) < 0) {
                HOLDS(err.code == CAY_INVALID && err.msg[0] != '\0');
                return 0;
        }
        HOLDS(size >= 2 && size <= CAY_LIVE_ORDER_MAX && (unsigned)o.kind < CAY_LIVE_KIND_COUNT);
        HOLDS((unsigned)o.mouse < CAY_LIVE_MOUSE_COUNT && (unsigned)o.history < CAY_LIVE_HISTORY_COUNT);
        HOLDS(is_near(o.x, 0) && is_near(o.y, 0) && is_near(o.dx, -CAY_LIVE_FAR) &&
              is_near(o.dy, -CAY_LIVE_FAR));
        HOLDS(o.buttons <= 7 && o.clicks <= 3 && o.modifiers <= 15 && o.vk <= 255 && o.place <= 3);
        HOLDS(o.button && strlen(o.button) <= 6);
        HOLDS(memchr(o.key, '\0', sizeof(o.key)) && memchr(o.code, '\0', sizeof(o.code)) &&
              memchr(o.text, '\0', sizeof(o.text)));
        HOLDS(o.kind != CAY_LIVE_KEY || o.key[0] != '\0');
        return 0;
}
