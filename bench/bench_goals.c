/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report on what several programs of the bench have noted in one file; its exit status is whether all of
 * it holds.
 */

#include <stdio.h>
#include <string.h>

#include "goals.h"

int main(int argc, char **argv)
{
        char line[128], name[64];
        double value;
        FILE *f = argc == 2 ? fopen(argv[1], "re") : NULL;

        if (!f) {
                fprintf(stderr,
                        "usage: bench_goals FILE (written by bench programs: CAY_BENCH_RESULTS=FILE)\n");
                return 2;
        }
        while (fgets(line, sizeof(line), f))
                if (sscanf(line, "%63s %lf", name, &value) != 2 || !goals_note_named(name, value))
                        fprintf(stderr, "bench_goals: not a row: %s", line);
        fclose(f);
        printf("## Which rows hold\n\n");
        return goals_report(true) == 0 ? 0 : 1;
}
