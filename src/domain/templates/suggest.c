/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": the word that is closest to a mistyped one. Two swapped letters count as one mistake. */
#include "domain/templates/fields.h"

#include <ctype.h>

enum {
        LONGEST = 24, /* of words that are compared */
        FAR = 3,      /* mistakes at most */
};

static unsigned least(unsigned a, unsigned b)
{
        return a < b ? a : b;
}

static char plain(char c)
{
        return c == '-' ? '_' : (char)tolower((unsigned char)c);
}

static unsigned distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
        unsigned rows[LONGEST + 1][LONGEST + 1];

        for (size_t i = 0; i <= a_len; i++)
                rows[i][0] = (unsigned)i;
        for (size_t k = 0; k <= b_len; k++)
                rows[0][k] = (unsigned)k;
        for (size_t i = 1; i <= a_len; i++) {
                for (size_t k = 1; k <= b_len; k++) {
                        unsigned other = plain(a[i - 1]) != plain(b[k - 1]);

                        rows[i][k] =
                                least(rows[i - 1][k - 1] + other, least(rows[i - 1][k], rows[i][k - 1]) + 1);
                        if (i > 1 && k > 1 && plain(a[i - 1]) == plain(b[k - 2]) &&
                            plain(a[i - 2]) == plain(b[k - 1]))
                                rows[i][k] = least(rows[i][k], rows[i - 2][k - 2] + 1);
                }
        }
        return rows[a_len][b_len];
}

/* Whether `other` is nearer to name than *best says; then *best is its distance. */
static bool is_nearer(const char *name, const char *other, unsigned *best)
{
        size_t len = strlen(name), other_len = strlen(other);
        unsigned d;

        if (len > LONGEST || other_len > LONGEST)
                return false;
        d = distance(name, len, other, other_len);
        if (d >= *best || d * 2 > len)
                return false;
        *best = d;
        return true;
}

const char *cay_registry_suggest(const struct cay_field *table, const char *name)
{
        unsigned best = FAR + 1;
        const char *meant = NULL;

        for (; table->name; table++)
                if (is_nearer(name, table->name, &best))
                        meant = table->name;
        return meant;
}

const char *cay_registry_suggest_word(const char *const *words, const char *name)
{
        unsigned best = FAR + 1;
        const char *meant = NULL;

        for (; *words; words++)
                if (is_nearer(name, *words, &best))
                        meant = *words;
        return meant;
}
