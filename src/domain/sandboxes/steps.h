/* SPDX-License-Identifier: Apache-2.0 */
/* The front's kill points: test builds die at the step that CAY_TEST_KILL=front@STEP names; others do nothing. */
#pragma once

enum cay_service_step {
#define CAY_SERVICE_STEP(name, doc) CAY_SERVICE_STEP_##name,
#include "domain/sandboxes/steps.def"
#undef CAY_SERVICE_STEP
        CAY_SERVICE_STEP_COUNT
};

const char *cay_service_step_name(enum cay_service_step step);

#ifdef CAY_TEST_HOOKS
/*
 * Reads CAY_TEST_KILL. CAY_TEST_KILL_AFTER: how many times the step is passed first. CAY_TEST_KILL_ONCE: a
 * file (relative to the front's own folder) that is made at the kill; a front that finds it is not armed.
 */
void cay_service_step_arm(void);
void cay_service_step_reached(enum cay_service_step step);
#else
static inline void cay_service_step_arm(void)
{
}

static inline void cay_service_step_reached(enum cay_service_step step)
{
        (void)step;
}
#endif
