/* SPDX-License-Identifier: Apache-2.0 */
/* The Range field. */
#include "dialects/rest/rest_range.h"

#include <strings.h>

#define MOST ((uint64_t)INT64_MAX)

/* Digits, as many as there are; false: none. */
static bool read_number(const char **at, uint64_t *ret)
{
        const char *start = *at;

        *ret = 0;
        for (; **at >= '0' && **at <= '9'; (*at)++) {
                uint64_t digit = (uint64_t)(**at - '0');

                *ret = *ret > (MOST - digit) / 10 ? MOST : *ret * 10 + digit;
        }
        return *at > start;
}

bool cay_rest_range_read(const char *value, struct cay_rest_range *ret)
{
        struct cay_rest_range r = { 0 };
        const char *at = value + 6;
        uint64_t to;

        if (strncasecmp(value, "bytes=", 6) != 0)
                return false;
        r.is_tail = *at == '-';
        if (!r.is_tail && !read_number(&at, &r.from))
                return false;
        if (*at++ != '-')
                return false;
        r.has_length = read_number(&at, &to);
        if (*at != '\0' || (r.is_tail && !r.has_length) || (r.has_length && !r.is_tail && to < r.from))
                return false;
        if (r.is_tail)
                r.length = to;
        else if (r.has_length)
                r.length = to - r.from < MOST ? to - r.from + 1 : MOST;
        *ret = r;
        return true;
}
