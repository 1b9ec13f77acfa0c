/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The front's kill points: test builds die at the step that CAY_TEST_KILL=front@STEP names; others do
 * nothing.
 */
#pragma once

enum cay_kill_point {
#define CAY_KILL_POINT(name, doc) CAY_KILL_POINT_##name,
#include "domain/sandboxes/kill_points.def"
#undef CAY_KILL_POINT
        CAY_KILL_POINT_COUNT
};

const char *cay_kill_point_name(enum cay_kill_point step);

#ifdef CAY_TEST_HOOKS
/*
 * Reads CAY_TEST_KILL. CAY_TEST_KILL_AFTER: how many times the step is passed first. CAY_TEST_KILL_ONCE: a
 * file (relative to the front's own folder) that is made at the kill; a front that finds it is not armed.
 */
void cay_kill_point_arm(void);
void cay_kill_point_reached(enum cay_kill_point step);
#else
static inline void cay_kill_point_arm(void)
{
}

static inline void cay_kill_point_reached(enum cay_kill_point step)
{
        (void)step;
}
#endif
