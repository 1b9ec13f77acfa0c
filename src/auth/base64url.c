/* SPDX-License-Identifier: Apache-2.0 */
/* Six bits at a time; the bits that the last character has too many must be zero, so each value has one form. */

#include "auth/base64url.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

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
                        *at++ = alphabet[bits >> (have - 6) & 63];
        }
        if (have > 0)
                *at++ = alphabet[bits << (6 - have) & 63];
        *at = '\0';
        return at - ret;
}

static int value_of(char c)
{
        if (c >= 'A' && c <= 'Z')
                return c - 'A';
        if (c >= 'a' && c <= 'z')
                return c - 'a' + 26;
        if (c >= '0' && c <= '9')
                return c - '0' + 52;
        return c == '-' ? 62 : c == '_' ? 63 : -1;
}

ssize_t cay_base64url_decode(const char *text, size_t len, void *ret, size_t size)
{
        uint8_t *at = ret;
        uint32_t bits = 0;
        unsigned have = 0;

        if (len % 4 == 1)
                return -EINVAL;
        for (size_t i = 0; i < len; i++) {
                int v = value_of(text[i]);

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
