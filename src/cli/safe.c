/* SPDX-License-Identifier: Apache-2.0 */
/* Escaping for terminals. */
#include "cli/safe.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"
#include "base/utf8.h"

static uint32_t character(const char *at, size_t n)
{
        static const uint8_t mask[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
        uint32_t c = (uint8_t)at[0] & mask[n];

        for (size_t i = 1; i < n; i++)
                c = c << 6 | ((uint8_t)at[i] & 0x3f);
        return c;
}

/* C0, DEL, C1; and what changes direction or hides without being seen. */
static bool is_hidden(uint32_t c)
{
        return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) ||
               (c >= 0x2028 && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0xfeff;
}

const char *cay_safe_copy(const char *text, char *ret, size_t size)
{
        size_t at = 0;

        while (*text != '\0') {
                size_t n = cay_utf8_next(text, strnlen(text, 4));
                uint32_t c = n > 0 ? character(text, n) : (uint8_t)*text;
                char piece[16];

                if (n == 0)
                        snprintf(piece, sizeof(piece), "\\x%02x", c);
                else if (c == '\n' || c == '\t' || c == '\r')
                        snprintf(piece, sizeof(piece), "\\%c", c == '\n' ? 'n' : c == '\t' ? 't' : 'r');
                else if (is_hidden(c))
                        snprintf(piece, sizeof(piece), c < 0x100 ? "\\x%02x" : "\\u%04x", c);
                else
                        snprintf(piece, sizeof(piece), "%.*s", (int)n, text);
                if (at + strlen(piece) >= size)
                        break;
                memcpy(ret + at, piece, strlen(piece));
                at += strlen(piece);
                text += n > 0 ? n : 1;
        }
        ret[at] = '\0';
        return ret;
}

size_t cay_safe_width(const char *safe)
{
        size_t width = 0;

        for (; *safe != '\0'; safe++)
                width += ((uint8_t)*safe & 0xc0) != 0x80;
        return width;
}

bool cay_safe_has_colours(FILE *out)
{
        const char *term = getenv("TERM"), *no = getenv("NO_COLOR");

        return isatty(fileno(out)) && (no == NULL || no[0] == '\0') && term != NULL &&
               strcmp(term, "dumb") != 0;
}
