/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a fresh box for one command costs: `cay run -- /bin/true` beside bubblewrap, runc, Docker and a bare
 * posix_spawn of the same program, as a Markdown table.
 *
 * Theory of operation. The rows take turns (A, B, C, A, B, C, …), so that whatever else the machine does
 * falls on all of them. Each turn is timed from just before posix_spawn to the moment when the program and
 * everything it started have ended: the driver is a subreaper, so a helper that outlives its program is
 * waited for and counted. Before each turn of cay nothing of Cay may be alive or left behind; that look is
 * not timed. No shell is involved; an exit status other than 0 ends the measurement.
 */

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "figures.h"
#include "goals.h"
#include "leftover.h"
#include "rivals.h"

enum { RUNS_DEFAULT = 200, RUNS_MAX = 100000, WARMUP = 5 };

struct row {
        struct rival rival;
        int which;                /* RIVAL_…; RIVALS_COUNT: another build */
        struct series times, cpu; /* one entry per round */
};

/* Cay runs beside the bench, for others: what it has there is not ours. */
static bool has_others;

/* One turn; the time in milliseconds, or -1 after saying what went wrong. */
static double turn(struct rival *rival, double *ret_cpu_ms)
{
        double begin, end;
        int status, r;
        pid_t pid;

        if (rival->marks && !has_others && leftover_find(rival->marks)) {
                fprintf(stderr, "bench: something of an earlier '%s' run is still there (above)\n",
                        rival->name);
                return -1;
        }
        begin = figures_now_ms();
        r = rivals_spawn(rival->argv, &pid);
        if (r < 0) {
                fprintf(stderr, "bench: %s: %s\n", rival->argv[0], strerror(-r));
                return -1;
        }
        status = rivals_wait_all(pid, ret_cpu_ms);
        end = figures_now_ms();
        if (status != 0) {
                fprintf(stderr, "bench: '%s' ended with wait status %d\n", rival->name, status);
                return -1;
        }
        return end - begin;
}

static int measure(struct row *rows, int count, int runs)
{
        bool tty = isatty(STDERR_FILENO);

        for (int round = -WARMUP; round < runs; round++) {
                for (int i = 0; i < count; i++) {
                        /* forwards and backwards: who comes after whom is the same for all in the end */
                        struct row *row = &rows[round % 2 ? count - 1 - i : i];
                        double cpu_ms, ms = turn(&row->rival, &cpu_ms);

                        if (ms < 0)
                                return -1;
                        if (round >= 0) {
                                series_add(&row->times, ms);
                                series_add(&row->cpu, cpu_ms);
                        }
                }
                if (tty && round >= 0 && round % 10 == 0)
                        fprintf(stderr, "\r%d of %d rounds", round, runs);
        }
        if (tty)
                fprintf(stderr, "\r%20s\r", "");
        return 0;
}

static const struct row *find_row(const struct row *rows, int count, int which)
{
        for (int i = 0; i < count; i++)
                if (rows[i].which == which)
                        return &rows[i];
        return NULL;
}

/* The median over the rounds; -1 where a row is missing. */
static double ratio_of(const struct row *rows, int count, int which, int reference)
{
        const struct row *a = find_row(rows, count, which), *b = find_row(rows, count, reference);

        return a && b ? series_ratio(&a->times, &b->times) : -1;
}

static void print_table(const struct row *rows, int count)
{
        const struct row *reference = find_row(rows, count, RIVAL_BUBBLEWRAP);

        printf("| one /bin/true, start to nothing left | p50 ms | p90 | p99 | best | processors, p50 ms | × "
               "bubblewrap (p50) | × bubblewrap (per round) |\n|---|---|---|---|---|---|---|---|\n");
        for (int i = 0; i < count; i++) {
                const struct series *times = &rows[i].times;
                double median = series_quantile(times, 0.5);

                printf("| %s | %.2f | %.2f | %.2f | %.2f | %.2f |", rows[i].rival.name, median,
                       series_quantile(times, 0.9), series_quantile(times, 0.99), series_quantile(times, 0),
                       series_quantile(&rows[i].cpu, 0.5));
                if (reference)
                        printf(" %.2f | %.2f |\n", median / series_quantile(&reference->times, 0.5),
                               series_ratio(times, &reference->times));
                else
                        printf(" – | – |\n");
        }
        printf("\n");
}

/* What a change costs or gains, round by round: the two differ in nothing else. */
static void print_difference(const struct row *rows, int count)
{
        const struct row *ours = find_row(rows, count, RIVAL_CAY),
                         *other = find_row(rows, count, RIVALS_COUNT);

        if (ours && other)
                printf("This build against the other, per round: %.3f × its time (median), %+.3f ms; %+.3f "
                       "ms of "
                       "the processors.\n\n",
                       series_ratio(&ours->times, &other->times),
                       series_difference(&ours->times, &other->times),
                       series_difference(&ours->cpu, &other->cpu));
}

static void note(enum goal which, double value)
{
        if (value >= 0)
                goals_note(which, value);
}

static int judge(const struct row *rows, int count)
{
        bool is_root = geteuid() == 0;

        note(is_root ? GOAL_run_same : GOAL_user_same, ratio_of(rows, count, RIVAL_CAY, RIVAL_BUBBLEWRAP));
        note(is_root ? GOAL_run_bare : GOAL_user_bare, ratio_of(rows, count, RIVAL_CAY, RIVAL_BARE));
        note(GOAL_run_floor, ratio_of(rows, count, RIVAL_CAY, RIVAL_FLOOR));
        return goals_report(false);
}

static void usage(FILE *out)
{
        fprintf(out,
                "usage: bench [--runs N] [--only NAME,NAME…] [--as UID] [--against BUILD] [--others] "
                "[BUILD]\n"
                "names: spawn floor cay bubblewrap bare runc docker\n"
                "--against BUILD  one more row: `cay run` of that build\n"
                "--others         other people's Cay runs on this machine: do not look for what is left\n");
}

static bool parse_runs(const char *text, int *ret_runs)
{
        char *end;
        long n;

        errno = 0;
        n = strtol(text, &end, 10);
        if (errno != 0 || end == text || *end != '\0' || n < 1 || n > RUNS_MAX)
                return false;
        *ret_runs = (int)n;
        return true;
}

/* From here on an ordinary user: what needs root is left out. */
static int be_ordinary(const char *text)
{
        char *end;
        unsigned long uid = strtoul(text, &end, 10);

        if (end == text || *end != '\0' || uid == 0 || uid > 0x7fffffff) {
                fprintf(stderr, "bench: --as: a number of an ordinary user, not '%s'\n", text);
                return -1;
        }
        if (setgroups(0, NULL) < 0 || setresgid((gid_t)uid, (gid_t)uid, (gid_t)uid) < 0 ||
            setresuid((uid_t)uid, (uid_t)uid, (uid_t)uid) < 0) {
                fprintf(stderr, "bench: --as %lu: %s\n", uid, strerror(errno));
                return -1;
        }
        printf("as uid %lu; ", uid);
        return 0;
}

static int parse_args(int argc, char **argv, int *ret_runs, const char **ret_only, const char **ret_against,
                      const char **ret_build)
{
        for (int i = 1; i < argc; i++) {
                if (strcmp(argv[i], "--runs") == 0 && i + 1 < argc) {
                        if (!parse_runs(argv[++i], ret_runs)) {
                                fprintf(stderr, "bench: --runs: a number from 1 to %d, not '%s'\n", RUNS_MAX,
                                        argv[i]);
                                return -1;
                        }
                } else if (strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
                        *ret_only = argv[++i];
                } else if (strcmp(argv[i], "--against") == 0 && i + 1 < argc) {
                        *ret_against = argv[++i];
                } else if (strcmp(argv[i], "--others") == 0) {
                        has_others = true;
                } else if (strcmp(argv[i], "--as") == 0 && i + 1 < argc) {
                        if (be_ordinary(argv[++i]) < 0)
                                return -1;
                } else if (argv[i][0] != '-') {
                        *ret_build = argv[i];
                } else {
                        usage(stderr);
                        return -1;
                }
        }
        return 0;
}

static int open_series(struct row *row, int runs)
{
        return series_open(&row->times, row->rival.name, runs) < 0 ||
                               series_open(&row->cpu, row->rival.name, runs) < 0
                       ? -1
                       : 0;
}

/* Those that there are, and that were asked for. */
static int open_rows(struct row *rows, int *ret_count, const char *only, const char *against,
                     const char *build, int runs)
{
        for (int i = 0; i <= RIVALS_COUNT; i++) {
                struct row *row = &rows[*ret_count];
                bool is_other = i == RIVALS_COUNT;

                if (is_other ? !against : !figures_is_wanted(only, rivals_name(i)))
                        continue;
                if ((is_other ? rivals_open_other(against, &row->rival)
                              : rivals_open(i, build, &row->rival)) < 0) {
                        rivals_close(&row->rival);
                        memset(row, 0, sizeof(*row));
                        if (i == RIVAL_CAY || is_other)
                                return -1;
                        continue;
                }
                row->which = i;
                (*ret_count)++;
                rivals_print_command(&row->rival);
                if (open_series(row, runs) < 0)
                        return -1;
        }
        return 0;
}

int main(int argc, char **argv)
{
        static struct row rows[RIVALS_COUNT + 1];
        const char *only = NULL, *against = NULL, *build = "build";
        int runs = RUNS_DEFAULT, count = 0, status = 2; /* 1: it measured, and a row fails */

        if (argc == 2 && strcmp(argv[1], "--help") == 0) {
                usage(stdout);
                return 0;
        }
        if (parse_args(argc, argv, &runs, &only, &against, &build) < 0)
                return 2;
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        rivals_print_machine(runs);
        if (open_rows(rows, &count, only, against, build, runs) == 0) {
                printf("\n");
                fflush(stdout);
                if (count > 0 && measure(rows, count, runs) == 0) {
                        print_table(rows, count);
                        print_difference(rows, count);
                        status = judge(rows, count) < 0;
                }
        }
        for (int i = 0; i < count; i++) {
                rivals_close(&rows[i].rival);
                series_close(&rows[i].times);
                series_close(&rows[i].cpu);
        }
        return status;
}
