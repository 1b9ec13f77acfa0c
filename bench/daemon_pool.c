/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Design rows 2, 5 and 6 with boxes made ahead: a life from a warm pool, Python in a fresh sandbox of it, a
 * hundred at once from a pool of a hundred. A daemon of its own has that pool. Before each turn the pool is
 * full again, as it is between the requests of people; how fast it fills is what the rows without a pool say.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon_rows.h"
#include "goals.h"

enum { POOL = 100, READY_MS = 120000, NAP_US = 5000, REST_US = 200 * 1000, WARMUP = 2, IN_A_ROW = 5 };
enum { WHOLE, PYTHON, AGAIN, BARE_PYTHON, BUBBLEWRAP, SERIES };

static const char *const names[SERIES] = { "create + exec + destroy over REST, from a warm pool",
                                           "create + `python3 -c 'print(1)'`, from a warm pool",
                                           "the same again in one sandbox, each of five in a row",
                                           "bare python3 -c 'print(1)'",
                                           "bubblewrap, same root, /proc and /dev" };
static const char python[] = "{\"command\":[\"/usr/bin/python3\",\"-c\",\"print(1)\"]}";

static long ready(struct bench *b)
{
        static const char key[] = "\"pool\":{\"ready\":";
        static char text[CLIENT_TEXT_MAX];
        const char *at;

        if (client_ask(&b->client, "GET", "/api/metrics", "", text, sizeof(text)) < 0)
                return -1;
        at = strstr(text, key);
        return at ? atol(at + strlen(key)) : -1;
}

int bench_await_pool(struct bench *b, long count)
{
        double until = figures_now_ms() + READY_MS;
        long now;

        while ((now = ready(b)) >= 0 && now < count) {
                if (figures_now_ms() > until) {
                        fprintf(stderr, "bench: pool: %ld of %ld boxes are ready after %d s\n", now, count,
                                READY_MS / 1000);
                        return -1;
                }
                usleep(NAP_US);
        }
        return now < 0 ? -1 : 0;
}

static int await_full(struct bench *b)
{
        return bench_await_pool(b, POOL);
}

/* And what was started in the boxes that were made last waits, too. */
static int await_rest(struct bench *b)
{
        if (await_full(b) < 0)
                return -1;
        usleep(REST_US);
        return 0;
}

static int take_life(struct bench *b, double *ret_ms)
{
        double begin = figures_now_ms();
        char id[64];

        if (bench_create(&b->client, "{}", id, sizeof(id)) < 0 || bench_true(&b->client, id) < 0 ||
            bench_let_go(&b->client, id) < 0)
                return -1;
        *ret_ms = figures_now_ms() - begin;
        return 0;
}

static int run_python(struct bench *b, const char *id)
{
        static char text[CLIENT_TEXT_MAX];
        char path[128];

        snprintf(path, sizeof(path), "/api/sandboxes/%s/execute", id);
        if (client_ask(&b->client, "POST", path, python, text, sizeof(text)) < 0)
                return -1;
        if (!strstr(text, "\"stdout\":\"1\\n\"")) {
                fprintf(stderr, "bench: pool: python3: %.300s\n", text);
                return -1;
        }
        return 0;
}

static int take_python(struct bench *b, double *ret_ms)
{
        double begin = figures_now_ms();
        char id[64];

        if (bench_create(&b->client, "{}", id, sizeof(id)) < 0 || run_python(b, id) < 0)
                return -1;
        *ret_ms = figures_now_ms() - begin;
        return bench_let_go(&b->client, id);
}

/* In a sandbox that stays: processes forked by its server. */
static int take_again(struct bench *b, const char *id, double *ret_ms)
{
        double begin = figures_now_ms();

        for (int i = 0; i < IN_A_ROW; i++)
                if (run_python(b, id) < 0)
                        return -1;
        *ret_ms = (figures_now_ms() - begin) / IN_A_ROW;
        return 0;
}

static int take_spawn(char *const argv[], double *ret_ms)
{
        double begin = figures_now_ms();
        pid_t pid;

        if (rivals_spawn(argv, &pid) < 0 || bench_wait(pid) != 0)
                return -1;
        *ret_ms = figures_now_ms() - begin;
        return 0;
}

static int take(struct bench *b, const char *again, double ms[SERIES])
{
        char *const bare[] = { "/usr/bin/python3", "-c", "print(1)", NULL };

        if (await_rest(b) < 0 || take_life(b, &ms[WHOLE]) < 0 || await_rest(b) < 0 ||
            take_python(b, &ms[PYTHON]) < 0 || await_rest(b) < 0 || take_again(b, again, &ms[AGAIN]) < 0 ||
            take_spawn(bare, &ms[BARE_PYTHON]) < 0)
                return -1;
        return b->bubblewrap ? take_spawn(b->bubblewrap->argv, &ms[BUBBLEWRAP]) : 0;
}

static void print(const struct series *s, bool has_rival)
{
        printf("| from a pool of %d, %d rounds | p50 ms | p90 | p99 | best |\n|---|---|---|---|---|\n", POOL,
               s[0].count);
        for (int i = 0; i < SERIES - !has_rival; i++)
                printf("| %s | %.2f | %.2f | %.2f | %.2f |\n", names[i], series_quantile(&s[i], 0.5),
                       series_quantile(&s[i], 0.9), series_quantile(&s[i], 0.99), series_quantile(&s[i], 0));
        printf("\n");
        goals_note(GOAL_python_warm, series_ratio(&s[PYTHON], &s[BARE_PYTHON]));
        goals_note(GOAL_python_again, series_ratio(&s[AGAIN], &s[BARE_PYTHON]));
        if (has_rival)
                goals_note(GOAL_life_pool, series_ratio(&s[WHOLE], &s[BUBBLEWRAP]));
}

static int measure_lives(struct bench *b)
{
        struct series s[SERIES] = { 0 };
        char again[64];
        int r = bench_create(&b->client, "{}", again, sizeof(again)) < 0 ? -1 : 0;

        for (int i = 0; i < SERIES && r == 0; i++)
                r = series_open(&s[i], names[i], b->rounds);
        for (int round = -WARMUP; round < b->rounds && r == 0; round++) {
                double ms[SERIES] = { 0 };

                r = take(b, again, ms);
                for (int i = 0; i < SERIES && r == 0 && round >= 0; i++)
                        series_add(&s[i], ms[i]);
        }
        if (r == 0)
                r = bench_destroy(&b->client, again);
        if (r == 0)
                print(s, b->bubblewrap != NULL);
        for (int i = 0; i < SERIES; i++)
                series_close(&s[i]);
        return r;
}

static int measure_crowd(struct bench *b)
{
        struct crowd c;
        int r = crowd_open(&c, b->rounds);

        if (r == 0)
                r = crowd_measure(b, &c, await_full);
        if (r == 0) {
                crowd_print(&c, "over REST, from a pool of as many");
                goals_note(GOAL_crowd_pool, series_quantile(&c.ours, 0.5));
        }
        crowd_close(&c);
        return r;
}

int row_pool(struct bench *b)
{
        char *more[] = { "--pool", "100", "--pool-memory", "1g", NULL };
        struct bench own = *b;
        char id[64];
        int r;

        own.client = (struct client){ .fd = -1 };
        r = daemon_start_with(&own.daemon, b->build, more);
        if (r == 0)
                r = client_open(&own.client, own.daemon.port, own.daemon.token);
        if (r == 0) /* the first of its shape starts the pool */
                r = bench_create(&own.client, "{}", id, sizeof(id)) < 0 ? -1 : bench_destroy(&own.client, id);
        if (r == 0)
                r = measure_lives(&own);
        if (r == 0)
                r = measure_crowd(&own);
        client_close(&own.client);
        return daemon_stop(&own.daemon) < 0 ? -1 : r;
}
