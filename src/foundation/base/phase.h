/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The life of a long-lived thing as a table: a row for each phase, with its word and the phases that may
 * follow it. The thing has one function that writes its phase, with cay_phase_move; everything else asks.
 * Commands and sandboxes, whose lives are longer, have tables of events instead
 * (domain/sandboxes/exec_phases.def, sandbox_phases.def).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CAY_PHASE_MAX 32u
#define CAY_PHASE_BIT(phase) (1u << (phase))

struct cay_phase_row {
        const char *word;
        uint32_t next; /* bit set: CAY_PHASE_BIT */
};

struct cay_phase_table { /* constant; the first row is the phase of a zeroed struct */
        const char *thing;
        const struct cay_phase_row *rows;
        unsigned count;
};

bool cay_phase_may(const struct cay_phase_table *t, unsigned from, unsigned to);
/*
 * Returns `to`, and logs the move; stops the process at a pair that the table lacks. id: which thing, for the
 * log.
 */
unsigned cay_phase_move(const struct cay_phase_table *t, unsigned from, unsigned to, const char *id);
/* Every row has a word, and every phase can be reached from the first. For tests of tables. */
bool cay_phase_table_is_sound(const struct cay_phase_table *t);
