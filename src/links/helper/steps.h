/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The trace of steps: a page shared by the warden and the boxes it makes. The CLI keeps its own steps and
 * merges both. Times are CLOCK_REALTIME nanoseconds: the only clock that time namespaces do not shift.
 */
#pragma once

#include <stdint.h>

enum cay_step_who { CAY_WHO_CLI, CAY_WHO_WARDEN, CAY_WHO_BOX };

enum cay_step {
#define CAY_STEP(name, who, doc) CAY_STEP_##name,
#include "links/helper/steps.def"
#undef CAY_STEP
        CAY_STEP_COUNT
};

struct cay_steps {
        uint64_t at_ns[CAY_STEP_COUNT]; /* 0: not reached */
};

const char *cay_step_name(enum cay_step step);
enum cay_step_who cay_step_who(enum cay_step step);
/* Records the time. In test builds, kills the process that CAY_TEST_KILL names for this step. */
void cay_step_reached(struct cay_steps *steps, enum cay_step step);
/*
 * Test builds: reads CAY_TEST_KILL ("warden@mapped", "cli@box_root", "box@made"): who dies when the step is
 * reached. Called in the CLI and in the warden, as soon as both exist. A box can be killed at its own steps
 * and at the warden's. Elsewhere: nothing.
 */
void cay_step_arm(int cli_pid, int warden_pid);
void cay_step_box(int pid);    /* test builds: tells the warden which process is the box */
void cay_step_fds(int ret[2]); /* test builds: descriptors that the box needs for its steps; else untouched */
