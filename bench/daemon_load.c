/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers while sandboxes take every processor: GET /health and create, first with nothing else, then beside
 * sandboxes whose commands never wait (two per processor). The ratio of the 99th percentiles is what a caller
 * notices of somebody else's work.
 */

#include <stdio.h>
#include <unistd.h>

#include "daemon_rows.h"
#include "goals.h"

enum { BURNERS_MAX = 8, HEALTH_TIMES = 10, SETTLE_MS = 500 };
enum { HEALTH, CREATE, SERIES };

static const char *const names[2][SERIES] = { { "GET /health, idle", "create, idle" },
                                              { "GET /health, processors busy", "create, processors busy" } };

static int take(struct bench *b, int rounds, struct series *s)
{
        for (int i = 0; i < rounds * HEALTH_TIMES; i++) {
                char text[CLIENT_TEXT_MAX];
                double begin = figures_now_ms();

                if (client_ask(&b->client, "GET", "/health", "", text, sizeof(text)) < 0)
                        return -1;
                series_add(&s[HEALTH], figures_now_ms() - begin);
        }
        for (int i = 0; i < rounds; i++) {
                double begin = figures_now_ms();
                char id[64];

                if (bench_create(&b->client, "{}", id, sizeof(id)) < 0)
                        return -1;
                series_add(&s[CREATE], figures_now_ms() - begin);
                if (bench_destroy(&b->client, id) < 0)
                        return -1;
        }
        return 0;
}

static int burn(struct bench *b, char *ret_id, size_t size)
{
        static const char body[] =
                "{\"background\":true,\"command\":\"while :; do :; done & while :; do :; done\"}";
        char path[128], text[CLIENT_TEXT_MAX];

        if (bench_create(&b->client, "{}", ret_id, size) < 0)
                return -1;
        snprintf(path, sizeof(path), "/api/sandboxes/%s/execute", ret_id);
        return client_ask(&b->client, "POST", path, body, text, sizeof(text));
}

static int measure(struct bench *b, struct series s[2][SERIES])
{
        long wanted = sysconf(_SC_NPROCESSORS_ONLN);
        char ids[BURNERS_MAX][64];
        int count = 0, r = take(b, b->rounds, s[0]);

        while (r == 0 && count < wanted && count < BURNERS_MAX) {
                r = burn(b, ids[count], sizeof(ids[count]));
                count += r == 0;
        }
        usleep(SETTLE_MS * 1000);
        if (r == 0)
                r = take(b, b->rounds, s[1]);
        while (count-- > 0)
                if (bench_destroy(&b->client, ids[count]) < 0)
                        r = -1;
        return r;
}

static void print(const struct series s[2][SERIES])
{
        printf("| beside sandboxes that take every processor | p50 ms | p90 | p99 | best |\n"
               "|---|---|---|---|---|\n");
        for (int k = 0; k < SERIES; k++)
                for (int i = 0; i < 2; i++)
                        printf("| %s | %.2f | %.2f | %.2f | %.2f |\n", names[i][k],
                               series_quantile(&s[i][k], 0.5), series_quantile(&s[i][k], 0.9),
                               series_quantile(&s[i][k], 0.99), series_quantile(&s[i][k], 0));
        printf("\n");
        goals_note(GOAL_load_health,
                   series_quantile(&s[1][HEALTH], 0.99) / series_quantile(&s[0][HEALTH], 0.99));
        goals_note(GOAL_load_create,
                   series_quantile(&s[1][CREATE], 0.99) / series_quantile(&s[0][CREATE], 0.99));
}

int row_load(struct bench *b)
{
        struct series s[2][SERIES] = { 0 };
        int r = 0;

        for (int i = 0; i < 2 && r == 0; i++)
                for (int k = 0; k < SERIES && r == 0; k++)
                        r = series_open(&s[i][k], names[i][k], b->rounds * HEALTH_TIMES);
        if (r == 0)
                r = measure(b, s);
        if (r == 0)
                print(s);
        for (int i = 0; i < 2; i++)
                for (int k = 0; k < SERIES; k++)
                        series_close(&s[i][k]);
        return r;
}
