/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The phases of a command and the events that move it: exec_phases.def, as functions. All are pure, except
 * cay_exec_move (service_priv.h), the only writer of a command's phase.
 */
#pragma once

#include <stdbool.h>

enum cay_exec_phase {
#define CAY_EXEC_PHASE(name, word, record, end, doc) CAY_EXEC_PHASE_##name,
#include "domain/sandboxes/exec_phases.def"
        CAY_EXEC_PHASE_COUNT
};

enum cay_exec_event {
#define CAY_EXEC_EVENT(name, word, doc) CAY_EXEC_EVENT_##name,
#include "domain/sandboxes/exec_phases.def"
        CAY_EXEC_EVENT_COUNT
};

enum cay_exec_record { CAY_EXEC_RECORD_NONE, CAY_EXEC_RECORD_PENDING, CAY_EXEC_RECORD_STORED };
enum cay_exec_end {
        CAY_EXEC_END_ALIVE,
        CAY_EXEC_END_KNOWN,
        CAY_EXEC_END_JUDGED,
        CAY_EXEC_END_TOLD,
        CAY_EXEC_END_NEVER
};

const char *cay_exec_phase_word(enum cay_exec_phase phase);
const char *cay_exec_event_word(enum cay_exec_event event);
enum cay_exec_record cay_exec_phase_record(enum cay_exec_phase phase);
enum cay_exec_end cay_exec_phase_end(enum cay_exec_phase phase);
int cay_exec_phase_next(enum cay_exec_phase phase, enum cay_exec_event event); /* phase; -1: not legal */
