/* SPDX-License-Identifier: Apache-2.0 */
/* Goals, and what was measured. See goals.h. */

#include "goals.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum way { AT_MOST, AT_LEAST };

static const struct {
        const char *name;
        enum way way;
        double goal, bound;
        const char *text;
} goals[GOAL_COUNT] = {
#define CAY_GOAL(id, way, goal, bound, text) { #id, way, goal, bound, text },
#include "goals.def"
#undef CAY_GOAL
};

static struct {
        bool is_known;
        double value;
} noted[GOAL_COUNT];

const char *goals_name(enum goal which)
{
        return goals[which].name;
}

void goals_note(enum goal which, double value)
{
        const char *path = getenv("CAY_BENCH_RESULTS");
        FILE *f = path && *path ? fopen(path, "ae") : NULL;

        noted[which].is_known = true;
        noted[which].value = value;
        if (f) {
                fprintf(f, "%s %.6g\n", goals[which].name, value);
                fclose(f);
        }
}

bool goals_note_named(const char *name, double value)
{
        for (int i = 0; i < GOAL_COUNT; i++)
                if (strcmp(goals[i].name, name) == 0) {
                        noted[i].is_known = true;
                        noted[i].value = value;
                        return true;
                }
        return false;
}

/* Something that could not be told (negative, not a number) reaches nothing. */
static bool reaches(enum way way, double value, double limit)
{
        return value >= 0 && (way == AT_MOST ? value <= limit : value >= limit);
}

enum goal_verdict goals_judge(enum goal which, double value)
{
        if (reaches(goals[which].way, value, goals[which].goal))
                return GOAL_HOLDS;
        return goals[which].bound > 0 && reaches(goals[which].way, value, goals[which].bound) ? GOAL_MISSES
                                                                                              : GOAL_FAILS;
}

int goals_report(bool all)
{
        static const char *const verdicts[] = {
                [GOAL_HOLDS] = "holds", [GOAL_MISSES] = "declared miss", [GOAL_FAILS] = "**FAILS**"
        };
        int count[GOAL_FAILS + 1] = { 0 }, missing = 0;

        printf("| row | measured | goal | bound | |\n|---|---|---|---|---|\n");
        for (int i = 0; i < GOAL_COUNT; i++) {
                const char *sign = goals[i].way == AT_MOST ? "≤" : "≥";
                enum goal_verdict v;

                if (!noted[i].is_known) {
                        missing++;
                        if (all)
                                printf("| %s | – | %s %g | | not measured |\n", goals[i].text, sign,
                                       goals[i].goal);
                        continue;
                }
                v = goals_judge((enum goal)i, noted[i].value);
                count[v]++;
                printf("| %s | %.3g | %s %g | ", goals[i].text, noted[i].value, sign, goals[i].goal);
                if (goals[i].bound > 0)
                        printf("%s %g", sign, goals[i].bound);
                printf(" | %s |\n", verdicts[v]);
        }
        printf("\n%d hold, %d are declared misses, %d fail; %d not measured.\n\n", count[GOAL_HOLDS],
               count[GOAL_MISSES], count[GOAL_FAILS], missing);
        fflush(stdout);
        return count[GOAL_FAILS] > 0 ? -1 : 0;
}
