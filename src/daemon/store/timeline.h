/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store's own time: how it goes on from one life of the daemon to the next. Pure.
 *
 * Theory of operation. Within one start of the machine it is the boot clock plus a constant: nobody can set it, and a restart of the
 * daemon finds the same constant again. Across a restart of the machine only the wall clock says how long it was off;
 * a wall clock that went back counts as no time at all. (One that was wrongly set forward while the machine
 * was off can't be told from a long rest.)
 */
#pragma once

#include "domain/model/port_clock.h"

struct cay_timeline_mark { /* one moment, by all clocks */
        uint64_t store_ms;
        struct cay_clock_reading at;
};

#define CAY_TIMELINE_TEXT_MAX 160

/* The store's time at `now`, going on from `last`; last NULL: a new store, which starts with the wall clock's number. */
uint64_t cay_timeline_resume(const struct cay_timeline_mark *last, const struct cay_clock_reading *now);
void cay_timeline_text(const struct cay_timeline_mark *m, char ret[CAY_TIMELINE_TEXT_MAX]);
int cay_timeline_parse(const char *text, struct cay_timeline_mark *ret); /* 0 or -EINVAL */
