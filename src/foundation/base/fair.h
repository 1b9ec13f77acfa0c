/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Places of a table that owners share. One owner may have `owner_max` of them, and never more than half of what the others leave free: so
 * whoever comes last finds a place, however many each of those before has taken.
 */
#pragma once

#include <stdbool.h>

/* Whether one more is due to an owner that has `own` of the `all` that are taken. */
static inline bool cay_fair_has_room(unsigned total_max, unsigned owner_max, unsigned all, unsigned own)
{
        unsigned others = all > own ? all - own : 0;
        unsigned left = total_max > others ? total_max - others : 0;

        return own < owner_max && own < (left + 1) / 2;
}
