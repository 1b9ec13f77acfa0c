/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots of a table that owners share. One owner may have `owner_max` of them, and never more than half of
 * what the others leave free. So a new owner always finds a slot, however many the others have taken.
 */
#pragma once

#include <stdbool.h>

/* Whether an owner that has `own` of the `all` used slots may take one more. */
static inline bool cay_fair_has_room(unsigned total_max, unsigned owner_max, unsigned all, unsigned own)
{
        unsigned others = all > own ? all - own : 0;
        unsigned left = total_max > others ? total_max - others : 0;

        return own < owner_max && own < (left + 1) / 2;
}
