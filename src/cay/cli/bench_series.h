/* SPDX-License-Identifier: Apache-2.0 */
/* Times of one row of `cay bench`, and their statistics. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CAY_BENCH_ROUNDS_MAX 1000u

struct cay_series {
        uint64_t *ns; /* owned: room for `max` */
        unsigned count, max;
        char why[192]; /* why it is left out; "": it is not */
};

bool cay_series_open(struct cay_series *s, unsigned max); /* false: no memory */
void cay_series_close(struct cay_series *s);
void cay_series_add(struct cay_series *s, uint64_t ns);
/* The time that `percent` of them did not exceed: always a measured one. 0: none. */
uint64_t cay_series_ns(const struct cay_series *s, unsigned percent);
