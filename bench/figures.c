/* SPDX-License-Identifier: Apache-2.0 */
/* Times of one row. See figures.h. */

#include "figures.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

double figures_now_ms(void)
{
        struct timespec ts;

        clock_gettime(CLOCK_MONOTONIC, &ts);
        return (double)ts.tv_sec * 1e3 + (double)ts.tv_nsec / 1e6;
}

static int by_value(const void *a, const void *b)
{
        double x = *(const double *)a, y = *(const double *)b;

        return (x > y) - (x < y);
}

int series_open(struct series *s, const char *name, int max)
{
        s->name = name;
        s->count = 0;
        s->max = max;
        s->ms = calloc((size_t)max, sizeof(*s->ms));
        if (!s->ms)
                fprintf(stderr, "bench: no memory for %d rounds\n", max);
        return s->ms ? 0 : -1;
}

void series_close(struct series *s)
{
        free(s->ms);
        s->ms = NULL;
}

void series_add(struct series *s, double ms)
{
        if (s->count < s->max)
                s->ms[s->count++] = ms;
}

static double quantile_of(const double *values, int count, double q)
{
        double *sorted = malloc((size_t)count * sizeof(*sorted));
        double found;

        if (!sorted)
                return -1;
        memcpy(sorted, values, (size_t)count * sizeof(*sorted));
        qsort(sorted, (size_t)count, sizeof(*sorted), by_value);
        found = sorted[(int)(q * (count - 1) + 0.5)];
        free(sorted);
        return found;
}

double series_quantile(const struct series *s, double q)
{
        return s->count > 0 ? quantile_of(s->ms, s->count, q) : -1;
}

static double median_of_both(const struct series *s, const struct series *other, bool divide)
{
        int count = s->count < other->count ? s->count : other->count;
        double *values = count > 0 ? malloc((size_t)count * sizeof(*values)) : NULL;
        double found;

        if (!values)
                return -1;
        for (int i = 0; i < count; i++)
                values[i] = divide ? s->ms[i] / other->ms[i] : s->ms[i] - other->ms[i];
        found = quantile_of(values, count, 0.5);
        free(values);
        return found;
}

double series_ratio(const struct series *s, const struct series *other)
{
        return median_of_both(s, other, true);
}

double series_difference(const struct series *s, const struct series *other)
{
        return median_of_both(s, other, false);
}

bool figures_is_wanted(const char *only, const char *name)
{
        size_t n = strlen(name);

        if (!only)
                return true;
        for (const char *p = only; p; p = strchr(p, ',') ? strchr(p, ',') + 1 : NULL)
                if (strncmp(p, name, n) == 0 && (p[n] == ',' || p[n] == '\0'))
                        return true;
        return false;
}
