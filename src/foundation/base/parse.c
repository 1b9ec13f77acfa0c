/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict numbers. The form is checked before the value, so text that is both malformed and huge is malformed.
 * Scaled values that do not come out whole are rounded up: what is not zero never becomes zero.
 */

#include "foundation/base/parse.h"

#include <errno.h>
#include <stdbool.h>

#include "foundation/base/cleanup.h"

enum { DECIMALS_MAX = 18 }; /* keeps the fraction below 2^60 */

struct number {
        uint64_t whole;
        uint64_t fraction; /* of 10^decimals */
        unsigned decimals;
        bool is_huge;     /* whole does not hold it */
        const char *rest; /* behind the number */
};

struct unit {
        const char *name;
        uint64_t factor;
};

static const struct unit size_units[] = {
        { "", 1 },
        { "b", 1 },
        { "k", UINT64_C(1) << 10 },
        { "kb", UINT64_C(1) << 10 },
        { "ki", UINT64_C(1) << 10 },
        { "kib", UINT64_C(1) << 10 },
        { "m", UINT64_C(1) << 20 },
        { "mb", UINT64_C(1) << 20 },
        { "mi", UINT64_C(1) << 20 },
        { "mib", UINT64_C(1) << 20 },
        { "g", UINT64_C(1) << 30 },
        { "gb", UINT64_C(1) << 30 },
        { "gi", UINT64_C(1) << 30 },
        { "gib", UINT64_C(1) << 30 },
        { "t", UINT64_C(1) << 40 },
        { "tb", UINT64_C(1) << 40 },
        { "ti", UINT64_C(1) << 40 },
        { "tib", UINT64_C(1) << 40 },
};

static const struct unit duration_units[] = {
        { "", 1000 },
        { "ms", 1 },
        { "s", 1000 },
        { "m", 60 * 1000 },
        { "h", 60 * 60 * 1000 },
        { "d", 24 * 60 * 60 * 1000 },
};

static bool is_digit(char c)
{
        return c >= '0' && c <= '9';
}

static char to_lower(char c)
{
        return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_equal(const char *a, const char *b, bool any_case)
{
        while (*a && (any_case ? to_lower(*a) : *a) == *b) {
                a++;
                b++;
        }
        return *a == *b;
}

/* Digits, perhaps '.' and digits; stops behind them. */
static int read_number(const char *s, unsigned decimals_max, struct number *ret)
{
        struct number n = { 0 };

        if (!is_digit(*s))
                return -EINVAL;
        for (; is_digit(*s); s++) {
                if (__builtin_mul_overflow(n.whole, (uint64_t)10, &n.whole) ||
                    __builtin_add_overflow(n.whole, (uint64_t)(*s - '0'), &n.whole))
                        n.is_huge = true;
        }
        if (*s == '.' && decimals_max > 0) {
                s++;
                if (!is_digit(*s))
                        return -EINVAL;
                for (; is_digit(*s); s++) {
                        if (n.decimals == decimals_max)
                                return -EINVAL;
                        n.fraction = n.fraction * 10 + (uint64_t)(*s - '0');
                        n.decimals++;
                }
        }
        n.rest = s;
        *ret = n;
        return 0;
}

/* number × factor, rounded up */
static int scale(const struct number *n, uint64_t factor, uint64_t *ret)
{
        unsigned __int128 part, one = 1;
        uint64_t v;

        if (n->is_huge || __builtin_mul_overflow(n->whole, factor, &v))
                return -ERANGE;
        for (unsigned i = 0; i < n->decimals; i++)
                one *= 10;
        part = ((unsigned __int128)n->fraction * factor + (one - 1)) / one;
        if (__builtin_add_overflow(v, (uint64_t)part, &v)) /* part ≤ factor */
                return -ERANGE;
        *ret = v;
        return 0;
}

static int read_scaled(const char *s, const struct unit *units, size_t count, bool any_case, uint64_t *ret)
{
        struct number n;
        int r;

        r = read_number(s, DECIMALS_MAX, &n);
        if (r < 0)
                return r;
        for (size_t i = 0; i < count; i++) {
                if (!is_equal(n.rest, units[i].name, any_case))
                        continue;
                /* There is no part of a byte, nor do we promise parts of a millisecond. */
                return n.decimals > 0 && units[i].factor == 1 ? -EINVAL : scale(&n, units[i].factor, ret);
        }
        return -EINVAL;
}

int cay_parse_u64(const char *s, uint64_t *ret)
{
        struct number n;
        int r;

        r = read_number(s, 0, &n);
        if (r < 0 || *n.rest)
                return -EINVAL;
        return scale(&n, 1, ret);
}

int cay_parse_size(const char *s, uint64_t *ret_bytes)
{
        return read_scaled(s, size_units, CAY_COUNT(size_units), true, ret_bytes);
}

int cay_parse_duration(const char *s, uint64_t *ret_ms)
{
        return read_scaled(s, duration_units, CAY_COUNT(duration_units), false, ret_ms);
}

int cay_parse_milli(const char *s, uint64_t *ret_milli)
{
        struct number n;
        int r;

        r = read_number(s, 3, &n);
        if (r < 0 || *n.rest)
                return -EINVAL;
        return scale(&n, 1000, ret_milli);
}
