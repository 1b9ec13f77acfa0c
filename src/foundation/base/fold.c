/* SPDX-License-Identifier: Apache-2.0 */
#include "foundation/base/fold.h"

#include <string.h>

#include "foundation/base/utf8.h"

static bool is_space(uint32_t c)
{
        return c == ' ' || (c >= '\t' && c <= '\r') || c == 0x85 || c == 0xa0 || c == 0x1680 ||
               (c >= 0x2000 && c <= 0x200b) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
               c == 0x3000 || c == 0xfeff;
}

/* Letters of U+0100 to U+017F come in pairs; in two stretches the capital is the odd one. */
static uint32_t lower_latin(uint32_t c)
{
        bool odd = (c >= 0x139 && c <= 0x148) || (c >= 0x179 && c <= 0x17e);

        if (c == 0x130) /* I with a dot: what many keyboards make of i */
                return 'i';
        if (c == 0x178)
                return 0xff;
        if (c == 0x138 || c == 0x149 || c == 0x17f)
                return c;
        return (c & 1) == (odd ? 1 : 0) ? c + 1 : c;
}

static uint32_t lower(uint32_t c)
{
        if (c < 0x80)
                return c >= 'A' && c <= 'Z' ? c + 0x20 : c;
        if (c >= 0xc0 && c <= 0xde)
                return c == 0xd7 ? c : c + 0x20;
        if (c >= 0x100 && c <= 0x17f)
                return lower_latin(c);
        if ((c >= 0x391 && c <= 0x3ab) || (c >= 0x410 && c <= 0x42f))
                return c + 0x20;
        if (c >= 0x400 && c <= 0x40f)
                return c + 0x50;
        if ((c >= 0x460 && c <= 0x481) || (c >= 0x48a && c <= 0x4bf) || (c >= 0x4d0 && c <= 0x52f))
                return c | 1;
        return c == 0x3c2 ? 0x3c3 : c; /* the sigma at a word's end */
}

uint32_t cay_fold_next(const char **at)
{
        size_t left = strnlen(*at, 4), n;
        uint32_t c;

        if (left == 0)
                return 0;
        n = cay_utf8_next(*at, left);
        if (n == 0)
                n = 1;
        c = cay_utf8_decode(*at, n);
        *at += n;
        return is_space(c) ? ' ' : lower(c);
}

bool cay_fold_is_word(uint32_t c)
{
        if (c < 0x80)
                return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z');
        if (c < 0xc0)
                return c == 0xaa || c == 0xb5 || c == 0xba;
        /* signs; then Thai, Lao and everything from the radicals of Chinese on */
        return c != 0xd7 && c != 0xf7 && !(c >= 0x2000 && c <= 0x2bff) && !(c >= 0xe00 && c <= 0xeff) &&
               c < 0x2e80;
}
