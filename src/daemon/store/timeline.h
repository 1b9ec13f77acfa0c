/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The store's own time: how it continues across restarts. Pure.
 *
 * Theory of operation. Until a reboot it is the boot clock plus a constant: nobody can set it, and a
 * restarted daemon finds the same constant. After a reboot only the wall clock tells how long the machine was
 * off. If the wall clock went back, no time has passed. (If it was wrongly set forward meanwhile, this cannot
 * be told from a long pause.)
 */
#pragma once

#include "domain/model/port_clock.h"

struct cay_timeline_mark { /* one moment, by all clocks */
        uint64_t store_ms;
        struct cay_clock_reading at;
};

#define CAY_TIMELINE_TEXT_MAX 160

/*
 * The store's time at `now`, continuing from `last`; last NULL: a new store, which starts at the wall clock's
 * value.
 */
uint64_t cay_timeline_resume(const struct cay_timeline_mark *last, const struct cay_clock_reading *now);
void cay_timeline_text(const struct cay_timeline_mark *m, char ret[CAY_TIMELINE_TEXT_MAX]);
int cay_timeline_parse(const char *text, struct cay_timeline_mark *ret); /* 0 or -EINVAL */
