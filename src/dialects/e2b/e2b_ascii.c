/* SPDX-License-Identifier: Apache-2.0 */
/* JSON text as ASCII. */
#include "dialects/e2b/e2b_ascii.h"

#include <stdint.h>

/* One character of valid UTF-8; a broken one is U+FFFD and one byte long. */
static size_t decode(const uint8_t *at, size_t len, uint32_t *ret)
{
        size_t more = at[0] >= 0xf0 ? 3 : at[0] >= 0xe0 ? 2 : at[0] >= 0xc0 ? 1 : 0;

        *ret = 0xfffd;
        if (more == 0 || more >= len)
                return 1;
        *ret = at[0] & (0x3fu >> more);
        for (size_t i = 1; i <= more; i++) {
                if ((at[i] & 0xc0) != 0x80) {
                        *ret = 0xfffd;
                        return 1;
                }
                *ret = *ret << 6 | (at[i] & 0x3fu);
        }
        return more + 1;
}

int e2b_ascii_put(struct cay_buf *out, const char *json, size_t len)
{
        const uint8_t *at = (const uint8_t *)json;
        int r = 0;

        while (len > 0 && r == 0) {
                size_t plain = 0;
                uint32_t c;

                while (plain < len && at[plain] < 0x80)
                        plain++;
                r = cay_buf_put(out, at, plain);
                at += plain;
                len -= plain;
                if (len == 0 || r < 0)
                        break;
                plain = decode(at, len, &c);
                at += plain;
                len -= plain;
                if (c < 0x10000)
                        r = cay_buf_printf(out, "\\u%04x", c);
                else
                        r = cay_buf_printf(out, "\\u%04x\\u%04x", 0xd800 + ((c - 0x10000) >> 10),
                                           0xdc00 + ((c - 0x10000) & 0x3ff));
        }
        return r;
}
