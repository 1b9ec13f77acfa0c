/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rows hold. Every program of the bench notes its ratios here, and says at its end which of them hold.
 * With CAY_BENCH_RESULTS=FILE they are also appended to that file ("id value" lines), from which bench_goals
 * makes the report on all programs.
 */
#pragma once

#include <stdbool.h>

enum goal {
#define CAY_GOAL(id, way, goal, bound, text) GOAL_##id,
#include "goals.def"
#undef CAY_GOAL
        GOAL_COUNT
};

enum goal_verdict { GOAL_HOLDS, GOAL_MISSES, GOAL_FAILS }; /* MISSES: as declared */

/* A row that is noted again keeps the later value. */
void goals_note(enum goal which, double value);
bool goals_note_named(const char *name, double value); /* false: there is no such row */
enum goal_verdict goals_judge(enum goal which, double value);
const char *goals_name(enum goal which);

/* Prints the rows that were noted, and with `all` which were not. 0, or -1 when one fails. */
int goals_report(bool all);
