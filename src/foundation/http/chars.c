/* SPDX-License-Identifier: Apache-2.0 */
/* Character classes. Values are checked eight bytes at a time: they are most of a request. */
#include "foundation/http/chars.h"

#include <stdint.h>
#include <strings.h>

static const bool token_char[256] = {
        ['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['!'] = true,  ['#'] = true,
        ['$'] = true,         ['%'] = true,         ['&'] = true,         ['\''] = true, ['*'] = true,
        ['+'] = true,         ['-'] = true,         ['.'] = true,         ['^'] = true,  ['_'] = true,
        ['`'] = true,         ['|'] = true,         ['~'] = true,
};

bool cay_http_is_token_char(char c)
{
        return token_char[(unsigned char)c];
}

bool cay_http_is_token(const char *s, size_t len)
{
        for (size_t i = 0; i < len; i++) {
                if (!token_char[(unsigned char)s[i]])
                        return false;
        }
        return len > 0;
}

/* Any byte below 0x20 or equal to 0x7f among the eight? May give false positives. */
static bool is_suspect(uint64_t word)
{
        const uint64_t ones = 0x0101010101010101u, highs = ones * 0x80;
        uint64_t del = word ^ ones * 0x7f;

        return (((word - ones * 0x20) & ~word) | ((del - ones) & ~del)) & highs;
}

bool cay_http_is_value(const char *s, size_t len)
{
        size_t i = 0;

        while (i < len) {
                unsigned char c = (unsigned char)s[i];
                uint64_t word;

                if (len - i >= sizeof(word)) {
                        memcpy(&word, s + i, sizeof(word));
                        if (!is_suspect(word)) {
                                i += sizeof(word);
                                continue;
                        }
                }
                if ((c < 0x20 && c != '\t') || c == 0x7f)
                        return false;
                i++;
        }
        return true;
}

bool cay_http_same_name(const char *a, size_t a_len, const char *b)
{
        return strlen(b) == a_len && strncasecmp(a, b, a_len) == 0;
}

static bool is_blank(char c)
{
        return c == ' ' || c == '\t';
}

/*
 * The next element of a comma-separated list, blanks around it cut; moves *at on. False: none left. Empty
 * ones are skipped.
 */
static bool next_item(const char **at, const char *end, const char **ret, size_t *ret_len)
{
        while (*at < end) {
                const char *start = *at, *comma = memchr(start, ',', (size_t)(end - start));
                const char *stop = comma ? comma : end;

                *at = comma ? comma + 1 : end;
                while (start < stop && is_blank(*start))
                        start++;
                while (start < stop && is_blank(stop[-1]))
                        stop--;
                if (start == stop)
                        continue;
                *ret = start;
                *ret_len = (size_t)(stop - start);
                return true;
        }
        return false;
}

bool cay_http_list_has(const char *list, size_t len, const char *word)
{
        const char *at = list, *item;
        size_t item_len;

        while (next_item(&at, list + len, &item, &item_len)) {
                if (cay_http_same_name(item, item_len, word))
                        return true;
        }
        return false;
}

int cay_http_hex_digit(char c)
{
        if (c >= '0' && c <= '9')
                return c - '0';
        if (c >= 'a' && c <= 'f')
                return c - 'a' + 10;
        if (c >= 'A' && c <= 'F')
                return c - 'A' + 10;
        return -1;
}
