/* SPDX-License-Identifier: Apache-2.0 */
/* Base 64, three bytes to four characters. */

#include "base/base64.h"

#include <errno.h>

int cay_base64_encode(const void *bytes, size_t len, struct cay_buf *out)
{
        static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        size_t groups = len / 3 + (len % 3 > 0), size;
        const uint8_t *b = bytes;
        char *at;

        if (__builtin_mul_overflow(groups, (size_t)4, &size) || size > cay_buf_left(out))
                return -ENOSPC;
        if (size == 0)
                return 0;
        at = cay_buf_room(out, size);
        if (!at)
                return -ENOMEM;
        for (; len > 0; at += 4) {
                size_t n = len < 3 ? len : 3;
                uint32_t v = (uint32_t)b[0] << 16;

                if (n > 1)
                        v |= (uint32_t)b[1] << 8;
                if (n > 2)
                        v |= b[2];
                at[0] = alphabet[v >> 18];
                at[1] = alphabet[v >> 12 & 63];
                at[2] = '=';
                at[3] = '=';
                if (n > 1)
                        at[2] = alphabet[v >> 6 & 63];
                if (n > 2)
                        at[3] = alphabet[v & 63];
                b += n;
                len -= n;
        }
        cay_buf_added(out, size);
        return 0;
}
