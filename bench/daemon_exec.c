/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Design row 4: /bin/true in a running sandbox over REST, in turns with posix_spawn + wait of the same
 * program and an answer without work.
 */

#include <stdio.h>

#include "daemon_rows.h"
#include "goals.h"

enum { EXEC, SPAWN, VERSION, SERIES };
enum { WARMUP = 20, TIMES = 5 }; /* rounds are short here: as many as TIMES the others' */

static const char *const names[SERIES] = { "exec /bin/true over REST", "posix_spawn + wait",
                                           "an answer without work (GET /api/version)" };

static int take(struct bench *b, const char *id, double at[SERIES + 1])
{
        char *const argv[] = { "/bin/true", NULL };
        char text[CLIENT_TEXT_MAX];
        pid_t pid;

        at[0] = figures_now_ms();
        if (bench_true(&b->client, id) < 0)
                return -1;
        at[1] = figures_now_ms();
        if (rivals_spawn(argv, &pid) < 0 || bench_wait(pid) != 0)
                return -1;
        at[2] = figures_now_ms();
        if (client_ask(&b->client, "GET", "/api/version", "", text, sizeof(text)) < 0)
                return -1;
        at[3] = figures_now_ms();
        return 0;
}

static int measure(struct bench *b, const char *id, struct series *s)
{
        for (int round = -WARMUP; round < b->rounds * TIMES; round++) {
                double at[SERIES + 1];

                if (take(b, id, at) < 0)
                        return -1;
                for (int i = 0; i < SERIES && round >= 0; i++)
                        series_add(&s[i], at[i + 1] - at[i]);
        }
        return 0;
}

static void print(const struct series *s)
{
        printf("| /bin/true in a running sandbox, %d rounds | p50 ms | p90 | p99 | best | × posix_spawn "
               "(p50) | × posix_spawn "
               "(per round) |\n|---|---|---|---|---|---|---|\n",
               s[0].count);
        for (int i = 0; i < SERIES; i++)
                printf("| %s | %.2f | %.2f | %.2f | %.2f | %.2f | %.2f |\n", names[i],
                       series_quantile(&s[i], 0.5), series_quantile(&s[i], 0.9), series_quantile(&s[i], 0.99),
                       series_quantile(&s[i], 0),
                       series_quantile(&s[i], 0.5) / series_quantile(&s[SPAWN], 0.5),
                       series_ratio(&s[i], &s[SPAWN]));
        printf("\n");
        goals_note(GOAL_exec, series_ratio(&s[EXEC], &s[SPAWN]));
}

int row_exec(struct bench *b)
{
        struct series s[SERIES] = { 0 };
        char id[64];
        int r = bench_create(&b->client, "{}", id, sizeof(id));

        if (r < 0)
                return -1;
        for (int i = 0; i < SERIES && r == 0; i++)
                r = series_open(&s[i], names[i], b->rounds * TIMES);
        if (r == 0)
                r = measure(b, id, s);
        if (r == 0)
                print(s);
        for (int i = 0; i < SERIES; i++)
                series_close(&s[i]);
        return bench_destroy(&b->client, id) < 0 ? -1 : r;
}
