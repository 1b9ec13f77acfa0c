/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTF-8 checks by the table of well-formed sequences: the first byte gives the length and the second byte's
 * range.
 */

#include "foundation/base/utf8.h"

#include <stdint.h>
#include <string.h>

/*
 * The length that a first byte announces, 0 if none may start so; *ret_low and *ret_high bound the second
 * byte.
 */
static size_t announce(uint8_t first, uint8_t *ret_low, uint8_t *ret_high)
{
        *ret_low = 0x80;
        *ret_high = 0xbf;
        if (first < 0x80)
                return 1;
        if (first < 0xc2)
                return 0;
        if (first < 0xe0)
                return 2;
        if (first < 0xf0) {
                if (first == 0xe0)
                        *ret_low = 0xa0;
                if (first == 0xed)
                        *ret_high = 0x9f;
                return 3;
        }
        if (first > 0xf4)
                return 0;
        if (first == 0xf0)
                *ret_low = 0x90;
        if (first == 0xf4)
                *ret_high = 0x8f;
        return 4;
}

/*
 * How many of the bytes there fit the sequence that the first one announces; *ret_wanted is its full length.
 */
static size_t matching(const uint8_t *b, size_t len, size_t *ret_wanted)
{
        uint8_t low, high;
        size_t n = 1;

        *ret_wanted = announce(b[0], &low, &high);
        while (n < *ret_wanted && n < len && b[n] >= low && b[n] <= high) {
                low = 0x80;
                high = 0xbf;
                n++;
        }
        return n;
}

size_t cay_utf8_next(const void *bytes, size_t len)
{
        size_t wanted;

        if (len == 0)
                return 0;
        return matching(bytes, len, &wanted) == wanted ? wanted : 0;
}

/* How many bytes there are ASCII, by eights. */
static size_t ascii_run(const uint8_t *b, size_t len)
{
        size_t n = 0;

        for (; len - n >= 8; n += 8) {
                uint64_t v;

                memcpy(&v, b + n, sizeof(v));
                if (v & UINT64_C(0x8080808080808080))
                        break;
        }
        return n;
}

bool cay_utf8_valid(const void *bytes, size_t len)
{
        const uint8_t *b = bytes;

        while (len > 0) {
                size_t n = ascii_run(b, len);

                if (n == 0)
                        n = b[0] < 0x80 ? 1 : cay_utf8_next(b, len);

                if (n == 0)
                        return false;
                b += n;
                len -= n;
        }
        return true;
}

size_t cay_utf8_cut(const void *bytes, size_t len)
{
        const uint8_t *b = bytes;

        for (size_t back = 1; back <= 3 && back <= len; back++) {
                size_t wanted;

                if ((b[len - back] & 0xc0) == 0x80)
                        continue;
                if (matching(b + len - back, back, &wanted) == back && wanted > back)
                        return len - back;
                break;
        }
        return len;
}

uint32_t cay_utf8_decode(const void *bytes, size_t n)
{
        const unsigned char *b = bytes;

        switch (n) {
        case 2:
                return (b[0] & 0x1fu) << 6 | (b[1] & 0x3fu);
        case 3:
                return (b[0] & 0x0fu) << 12 | (b[1] & 0x3fu) << 6 | (b[2] & 0x3fu);
        case 4:
                return (b[0] & 0x07u) << 18 | (b[1] & 0x3fu) << 12 | (b[2] & 0x3fu) << 6 | (b[3] & 0x3fu);
        default:
                return b[0];
        }
}
