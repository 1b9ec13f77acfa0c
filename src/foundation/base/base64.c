/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Base 64: the padded form into buffers, three bytes to four characters; the form of URLs into plain memory,
 * six bits at a time.
 */

#include "foundation/base/base64.h"

#include <errno.h>
#include <limits.h>

#define COMMON "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

static const char alphabet[] = COMMON "+/", url_alphabet[] = COMMON "-_";

int cay_base64_encode(const void *bytes, size_t len, struct cay_buf *out)
{
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

static int digit(char c, const char *letters)
{
        if (c >= 'A' && c <= 'Z')
                return c - 'A';
        if (c >= 'a' && c <= 'z')
                return c - 'a' + 26;
        if (c >= '0' && c <= '9')
                return c - '0' + 52;
        return c == letters[62] ? 62 : c == letters[63] ? 63 : -1;
}

/*
 * Four characters to at most three bytes; their number, or -EINVAL. The bits that stand for nothing are zero.
 */
static int decode_group(const char *text, bool is_last, uint8_t ret[3])
{
        int n = is_last && text[3] == '=' ? text[2] == '=' ? 1 : 2 : 3;
        uint32_t v = 0;

        for (int i = 0; i < 4; i++) {
                int d = i <= n ? digit(text[i], alphabet) : 0;

                if (d < 0)
                        return -EINVAL;
                v = v << 6 | (uint32_t)d;
        }
        if (v & ((1u << 8 * (3 - n)) - 1))
                return -EINVAL;
        ret[0] = (uint8_t)(v >> 16);
        ret[1] = (uint8_t)(v >> 8);
        ret[2] = (uint8_t)v;
        return n;
}

int cay_base64_decode(const char *text, size_t len, struct cay_buf *out)
{
        size_t before = out->len;

        if (len % 4 != 0)
                return -EINVAL;
        for (size_t i = 0; i < len; i += 4) {
                uint8_t bytes[3];
                int n = decode_group(text + i, i + 4 == len, bytes);
                int r = n < 0 ? n : cay_buf_put(out, bytes, (size_t)n);

                if (r < 0) {
                        out->len = before;
                        return r;
                }
        }
        return 0;
}

ssize_t cay_base64url_encode(const void *bytes, size_t len, char *ret, size_t size)
{
        const uint8_t *b = bytes;
        uint32_t bits = 0;
        unsigned have = 0;
        char *at = ret;

        if (len > SSIZE_MAX / 4 || CAY_BASE64URL_LEN(len) >= size)
                return -ENOSPC;
        for (size_t i = 0; i < len; i++) {
                bits = (bits << 8 | b[i]) & 0xffff;
                for (have += 8; have >= 6; have -= 6)
                        *at++ = url_alphabet[bits >> (have - 6) & 63];
        }
        if (have > 0)
                *at++ = url_alphabet[bits << (6 - have) & 63];
        *at = '\0';
        return at - ret;
}

/* The bits that the last character has too many must be zero, so each value has one form. */
ssize_t cay_base64url_decode(const char *text, size_t len, void *ret, size_t size)
{
        uint8_t *at = ret;
        uint32_t bits = 0;
        unsigned have = 0;

        if (len % 4 == 1)
                return -EINVAL;
        for (size_t i = 0; i < len; i++) {
                int v = digit(text[i], url_alphabet);

                if (v < 0)
                        return -EINVAL;
                bits = (bits << 6 | (uint32_t)v) & 0x3fff;
                have += 6;
                if (have < 8)
                        continue;
                have -= 8;
                if ((size_t)(at - (uint8_t *)ret) == size)
                        return -ENOSPC;
                *at++ = (uint8_t)(bits >> have);
        }
        return (bits & ((1u << have) - 1)) != 0 ? -EINVAL : at - (uint8_t *)ret;
}
