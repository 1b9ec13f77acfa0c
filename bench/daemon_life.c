/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Design row 3: create + exec + destroy over REST on one keep-alive connection, cold (no pool), in turns with
 * one bubblewrap run of the same command. Destroyed means answered: what the sandbox had is gone by then.
 */

#include <stdbool.h>
#include <stdio.h>

#include "daemon_rows.h"
#include "goals.h"
#include "rivals.h"

enum { CREATE, EXEC, DESTROY, WHOLE, LET_GO, LEFT, BUBBLEWRAP, SERIES };
enum { WARMUP = 5 };

static const char *const names[SERIES] = { "– create",
                                           "– exec /bin/true",
                                           "– destroy",
                                           "create + exec + destroy over REST, cold",
                                           "– destroy, not waited for",
                                           "create + exec + destroy, not waited for",
                                           "bubblewrap, same root, /proc and /dev" };

static int take_ours(struct bench *b, int (*destroy)(struct client *c, const char *id), double at[4])
{
        char id[64];

        at[0] = figures_now_ms();
        if (bench_create(&b->client, "{}", id, sizeof(id)) < 0)
                return -1;
        at[1] = figures_now_ms();
        if (bench_true(&b->client, id) < 0)
                return -1;
        at[2] = figures_now_ms();
        if (destroy(&b->client, id) < 0)
                return -1;
        at[3] = figures_now_ms();
        return 0;
}

static int take_theirs(struct rival *rival, double *ret_ms)
{
        double begin = figures_now_ms();
        pid_t pid;

        if (rivals_spawn(rival->argv, &pid) < 0 || bench_wait(pid) != 0) {
                fprintf(stderr, "bench: bubblewrap failed\n");
                return -1;
        }
        *ret_ms = figures_now_ms() - begin;
        return 0;
}

static int measure(struct bench *b, struct rival *rival, struct series *s)
{
        for (int round = -WARMUP; round < b->rounds; round++) {
                double at[4], left[4], theirs = 0;

                if (take_ours(b, bench_destroy, at) < 0 || take_ours(b, bench_let_go, left) < 0 ||
                    (rival && take_theirs(rival, &theirs) < 0))
                        return -1;
                if (round < 0)
                        continue;
                series_add(&s[CREATE], at[1] - at[0]);
                series_add(&s[EXEC], at[2] - at[1]);
                series_add(&s[DESTROY], at[3] - at[2]);
                series_add(&s[WHOLE], at[3] - at[0]);
                series_add(&s[LET_GO], left[3] - left[2]);
                series_add(&s[LEFT], left[3] - left[0]);
                series_add(&s[BUBBLEWRAP], theirs);
        }
        return 0;
}

static void print(const struct series *s, bool has_rival, int rounds)
{
        printf("| a sandbox for one /bin/true, %d rounds | p50 ms | p90 | p99 | best | × bubblewrap (p50) | "
               "× bubblewrap "
               "(per round) |\n|---|---|---|---|---|---|---|\n",
               rounds);
        for (int i = 0; i < SERIES; i++) {
                if (i == BUBBLEWRAP && !has_rival)
                        continue;
                printf("| %s | %.2f | %.2f | %.2f | %.2f |", names[i], series_quantile(&s[i], 0.5),
                       series_quantile(&s[i], 0.9), series_quantile(&s[i], 0.99), series_quantile(&s[i], 0));
                if (has_rival)
                        printf(" %.2f | %.2f |\n",
                               series_quantile(&s[i], 0.5) / series_quantile(&s[BUBBLEWRAP], 0.5),
                               series_ratio(&s[i], &s[BUBBLEWRAP]));
                else
                        printf(" – | – |\n");
        }
        printf("\n");
        if (!has_rival)
                return;
        goals_note(GOAL_life_cold, series_ratio(&s[WHOLE], &s[BUBBLEWRAP]));
        goals_note(GOAL_life_left, series_ratio(&s[LEFT], &s[BUBBLEWRAP]));
}

int row_life(struct bench *b)
{
        struct series s[SERIES] = { 0 };
        int r = 0;

        for (int i = 0; i < SERIES && r == 0; i++)
                r = series_open(&s[i], names[i], b->rounds);
        if (r == 0)
                r = measure(b, b->bubblewrap, s);
        if (r == 0)
                print(s, b->bubblewrap != NULL, b->rounds);
        for (int i = 0; i < SERIES; i++)
                series_close(&s[i]);
        return r;
}
