/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": finds the key nearest to a mistyped one. */

#include "domain/settings/config_priv.h"

enum {
        NAME_LONGEST = 40, /* longer words are not typing mistakes */
        FAR = 3,           /* changes at most */
};

static unsigned least(unsigned a, unsigned b, unsigned c)
{
        unsigned ab = a < b ? a : b;

        return ab < c ? ab : c;
}

/* The edit distance of two words. */
static unsigned distance(const char *a, size_t a_len, const char *b)
{
        unsigned row[NAME_LONGEST + 1];
        size_t b_len = strlen(b);

        for (size_t j = 0; j <= b_len; j++)
                row[j] = (unsigned)j;
        for (size_t i = 1; i <= a_len; i++) {
                unsigned corner = row[0];

                row[0] = (unsigned)i;
                for (size_t j = 1; j <= b_len; j++) {
                        unsigned above = row[j];
                        bool same = (a[i - 1] == '-' ? '_' : a[i - 1]) == b[j - 1];

                        row[j] = least(above + 1, row[j - 1] + 1, corner + !same);
                        corner = above;
                }
        }
        return row[b_len];
}

static const char *nearest(const char *name, size_t len)
{
        const char *best = NULL;
        unsigned best_distance = FAR + 1;

        if (len > NAME_LONGEST)
                return NULL;
        for (unsigned key = 0; key < CAY_CONFIG_KEY_COUNT; key++) {
                const char *other = cay_config_rows[key].name;
                unsigned d = strlen(other) <= NAME_LONGEST ? distance(name, len, other) : FAR + 1;

                if (d < best_distance && d * 2 <= len) {
                        best = other;
                        best_distance = d;
                }
        }
        return best;
}

int cay_config_unknown(const char *where, const char *what, const char *name, size_t len, const char *dash,
                       struct cay_error *err)
{
        const char *meant = nearest(name, len);
        int shown = (int)(len < NAME_LONGEST ? len : NAME_LONGEST);
        char other[NAME_LONGEST + 1];

        if (!meant)
                return cay_fail(err, CAY_INVALID, "%s: unknown %s '%s%.*s' ('cay config' lists them)", where,
                                what, dash, shown, name);
        snprintf(other, sizeof(other), "%.23s", meant);
        for (char *at = other; *dash && *at; at++) {
                if (*at == '_')
                        *at = '-';
        }
        return cay_fail(err, CAY_INVALID, "%s: unknown %s '%s%.*s' (did you mean '%s%s'?)", where, what, dash,
                        shown, name, dash, other);
}
