/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Design row 7: what a sandbox costs while others live: with ten, a hundred, three hundred, a thousand alive
 * (--alive), the times of create, exec, list (first page) and stats, and the memory that front and warden
 * have for each.
 */

#include <stdio.h>
#include <stdlib.h>

#include "daemon_rows.h"
#include "goals.h"

enum { LEVELS = 4, TURNS = 20 };
enum { CREATE, EXEC, LIST, STATS, SERIES };

static const int levels[LEVELS] = { 10, 100, 300, 1000 };

struct level {
        int alive;
        double p50[SERIES], p99[SERIES];
        double front, warden; /* KiB for each sandbox */
};

static int take(struct bench *b, const char *id, struct series *s)
{
        char text[CLIENT_TEXT_MAX], path[128], fresh[64];
        double at[SERIES + 1];

        at[0] = figures_now_ms();
        if (bench_create(&b->client, "{}", fresh, sizeof(fresh)) < 0)
                return -1;
        at[1] = figures_now_ms();
        if (bench_true(&b->client, id) < 0)
                return -1;
        at[2] = figures_now_ms();
        if (client_ask(&b->client, "GET", "/api/sandboxes?limit=20", "", text, sizeof(text)) < 0)
                return -1;
        at[3] = figures_now_ms();
        snprintf(path, sizeof(path), "/api/sandboxes/%s/stats", id);
        if (client_ask(&b->client, "GET", path, "", text, sizeof(text)) < 0)
                return -1;
        at[4] = figures_now_ms();
        for (int i = 0; i < SERIES; i++)
                series_add(&s[i], at[i + 1] - at[i]);
        return bench_destroy(&b->client, fresh);
}

static int look(struct bench *b, const char *id, struct resident front, struct resident warden,
                struct level *l)
{
        struct series s[SERIES] = { 0 };
        int r = 0;

        for (int i = 0; i < SERIES && r == 0; i++)
                r = series_open(&s[i], "", TURNS);
        for (int i = 0; i < TURNS && r == 0; i++)
                r = take(b, id, s);
        for (int i = 0; i < SERIES; i++) {
                l->p50[i] = series_quantile(&s[i], 0.5);
                l->p99[i] = series_quantile(&s[i], 0.99);
                series_close(&s[i]);
        }
        l->front = (double)(daemon_resident(b->daemon.front).now - front.now) / l->alive;
        l->warden = (double)(daemon_resident(b->daemon.warden).now - warden.now) / l->alive;
        return r;
}

static void print(const struct level *l, int count)
{
        printf("| alive | create, p50 ms (p99) | exec | list of 20 | stats | front, KiB each | warden, KiB "
               "each |\n"
               "|---|---|---|---|---|---|---|\n");
        for (int i = 0; i < count; i++) {
                printf("| %d |", l[i].alive);
                for (int k = 0; k < SERIES; k++)
                        printf(" %.2f (%.2f) |", l[i].p50[k], l[i].p99[k]);
                printf(" %.1f | %.1f |\n", l[i].front, l[i].warden);
        }
        printf("\n");
        if (count < 2)
                return;
        goals_note(GOAL_alive_create, l[count - 1].p50[CREATE] / l[0].p50[CREATE]);
        goals_note(GOAL_alive_exec, l[count - 1].p50[EXEC] / l[0].p50[EXEC]);
}

int row_alive(struct bench *b)
{
        struct resident front = daemon_resident(b->daemon.front), warden = daemon_resident(b->daemon.warden);
        char(*ids)[64] = calloc((size_t)levels[LEVELS - 1], sizeof(*ids));
        struct level l[LEVELS] = { 0 };
        int made = 0, count = 0, r = ids ? 0 : -1;

        for (; count < LEVELS && levels[count] <= b->alive && r == 0; count++) {
                while (made < levels[count] && r == 0) {
                        r = bench_create(&b->client, "{}", ids[made], sizeof(ids[made]));
                        made += r == 0;
                }
                l[count].alive = made;
                if (r == 0)
                        r = look(b, ids[0], front, warden, &l[count]);
        }
        if (r == 0)
                print(l, count);
        while (made-- > 0)
                if (bench_let_go(&b->client, ids[made]) < 0)
                        r = -1;
        free(ids);
        return r;
}
