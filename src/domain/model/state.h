/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The states of a sandbox, as clients see them and the store keeps them: one row each in state.def. The
 * transitions are in domain/sandboxes/sandbox_phases.def. A destroyed sandbox has no state: it does not exist
 * any more.
 *
 * Permitted calls: create makes CREATING. start: STOPPED, ERROR. stop: READY, BUSY, PAUSED, ERROR. pause:
 * READY, BUSY. resume: PAUSED. Commands, files and ports: READY, BUSY. destroy, extend, queries: always.
 */
#pragma once

#include <stdbool.h>

enum cay_state {
#define CAY_STATE(name, word, doc) CAY_STATE_##name,
#include "domain/model/state.def"
#undef CAY_STATE
        CAY_STATE_COUNT
};

bool cay_state_has_box(enum cay_state state); /* counts as alive */
const char *cay_state_word(enum cay_state state);
int cay_state_find(const char *word); /* state or -1 */
