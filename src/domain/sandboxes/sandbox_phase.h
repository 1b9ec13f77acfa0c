/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phases of a sandbox and the events that move it: sandbox_phases.def, as functions. All are pure, except
 * cay_sandbox_move (service_priv.h), the only writer of a sandbox's phase.
 */
#pragma once

#include <stdbool.h>

#include "domain/model/state.h"

enum cay_sandbox_phase {
#define CAY_SANDBOX_PHASE(name, word, state, operation, record, doc) CAY_SANDBOX_PHASE_##name,
#include "domain/sandboxes/sandbox_phases.def"
        CAY_SANDBOX_PHASE_COUNT
};

enum cay_sandbox_event {
#define CAY_SANDBOX_EVENT(name, word, doc) CAY_SANDBOX_EVENT_##name,
#include "domain/sandboxes/sandbox_phases.def"
        CAY_SANDBOX_EVENT_COUNT
};

enum cay_pending { /* the pending operation of a sandbox; one at a time */
                   CAY_PENDING_NONE,
                   CAY_PENDING_ADOPT,
                   CAY_PENDING_MAKE,
                   CAY_PENDING_START,
                   CAY_PENDING_STOP,
                   CAY_PENDING_DESTROY,
                   CAY_PENDING_PAUSE,
                   CAY_PENDING_RESUME,
                   CAY_PENDING_CLEAN,
                   CAY_PENDING_COUNT
};

const char *cay_sandbox_phase_word(enum cay_sandbox_phase phase);
const char *cay_sandbox_event_word(enum cay_sandbox_event event);
enum cay_state cay_sandbox_phase_state(enum cay_sandbox_phase phase, unsigned running);
enum cay_pending cay_sandbox_phase_pending(enum cay_sandbox_phase phase);
bool cay_sandbox_phase_is_stored(enum cay_sandbox_phase phase);
int cay_sandbox_phase_next(enum cay_sandbox_phase phase,
                           enum cay_sandbox_event event);       /* phase; -1: not legal */
enum cay_sandbox_event cay_sandbox_found(enum cay_state state); /* in a record */
