/* SPDX-License-Identifier: Apache-2.0 */
/* Times of one row, and what is said about them. */
#pragma once

#include <stdbool.h>

struct series {
        const char *name;
        double *ms; /* owned: one entry per round */
        int count, max;
};

double figures_now_ms(void);
bool figures_is_wanted(const char *only, const char *name); /* only: names with commas between; NULL: all */

int series_open(struct series *s, const char *name, int max); /* -1: no memory */
void series_close(struct series *s);
void series_add(struct series *s, double ms);
double series_quantile(const struct series *s, double q); /* of at least one entry */
/* The median over the rounds of this series' time divided by the other's of the same round. */
double series_ratio(const struct series *s, const struct series *other);
double series_difference(const struct series *s, const struct series *other); /* the same, subtracted */
