/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Design row 6: a hundred clients at once, each of which creates a sandbox and runs its first command. Timed from the first request
 * to the last command's answer; clients are connected before. In turns with a hundred bubblewrap runs at once.
 */

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon_rows.h"

enum { CROWD = 100, ROUNDS_MAX = 10, PATIENCE_MS = 60000 };
enum step { CREATING, RUNNING, DONE, FAILED };

struct guest {
        struct client client;
        enum step step;
        char id[64];
};

/* One answer is here (or on its way, all of it): the next request goes out. */
static void step_on(struct guest *g, int *left)
{
        char path[128], text[CLIENT_TEXT_MAX];
        bool good = client_take_text(&g->client, text, sizeof(text)) == 0 && g->client.status / 100 == 2;

        if (good && g->step == CREATING) {
                good = client_find(text, "sandbox_id", g->id, sizeof(g->id));
                snprintf(path, sizeof(path), "/api/sandboxes/%s/execute", g->id);
                if (good && client_send(&g->client, "POST", path, "{\"command\":[\"/bin/true\"]}") == 0) {
                        g->step = RUNNING;
                        return;
                }
        } else if (good) {
                good = strstr(text, "\"exit_code\":0") != NULL;
        }
        if (!good)
                fprintf(stderr, "bench: crowd: %d %.200s\n", g->client.status, text);
        g->step = good ? DONE : FAILED;
        (*left)--;
}

static int run_crowd(struct guest *guests, double *ret_ms)
{
        struct pollfd polls[CROWD];
        double begin = figures_now_ms();
        int left = CROWD;

        for (int i = 0; i < CROWD; i++) {
                guests[i].step = CREATING;
                if (client_send(&guests[i].client, "POST", "/api/sandboxes", "{}") < 0)
                        return -1;
        }
        while (left > 0) {
                for (int i = 0; i < CROWD; i++)
                        polls[i] = (struct pollfd){ .fd = guests[i].step < DONE ? guests[i].client.fd : -1,
                                                    .events = POLLIN };
                if (poll(polls, CROWD, PATIENCE_MS) <= 0) {
                        fprintf(stderr, "bench: crowd: %d of %d have no answer\n", left, CROWD);
                        return -1;
                }
                for (int i = 0; i < CROWD; i++)
                        if (polls[i].revents)
                                step_on(&guests[i], &left);
        }
        *ret_ms = figures_now_ms() - begin;
        return 0;
}

static int end_crowd(struct bench *b, struct guest *guests, int *ret_good)
{
        int r = 0;

        *ret_good = 0;
        for (int i = 0; i < CROWD; i++) {
                *ret_good += guests[i].step == DONE;
                if (guests[i].id[0] && bench_destroy(&b->client, guests[i].id) < 0)
                        r = -1;
                guests[i].id[0] = '\0';
        }
        return r;
}

static int run_bubblewraps(const struct rival *rival, double *ret_ms)
{
        double begin = figures_now_ms();
        pid_t pids[CROWD];
        int r = 0;

        for (int i = 0; i < CROWD; i++)
                if (rivals_spawn((char *const *)rival->argv, &pids[i]) < 0)
                        pids[i] = -1;
        for (int i = 0; i < CROWD; i++)
                if (pids[i] < 0 || bench_wait(pids[i]) != 0)
                        r = -1;
        *ret_ms = figures_now_ms() - begin;
        return r;
}

static int measure(struct bench *b, struct guest *guests, int rounds, struct series *ours,
                   struct series *theirs, int *ret_good)
{
        for (int round = 0; round < rounds; round++) {
                double ms;
                int good;

                if (run_crowd(guests, &ms) < 0 || end_crowd(b, guests, &good) < 0)
                        return -1;
                series_add(ours, ms);
                *ret_good += good;
                if (b->bubblewrap && run_bubblewraps(b->bubblewrap, &ms) == 0)
                        series_add(theirs, ms);
        }
        return 0;
}

static int connect_crowd(struct bench *b, struct guest *guests)
{
        for (int i = 0; i < CROWD; i++)
                guests[i].client.fd = -1;
        for (int i = 0; i < CROWD; i++)
                if (client_open(&guests[i].client, b->daemon.port, b->daemon.token) < 0)
                        return -1;
        return 0;
}

int row_crowd(struct bench *b)
{
        int rounds = b->rounds < ROUNDS_MAX ? b->rounds : ROUNDS_MAX, good = 0, r;
        struct guest *guests = calloc(CROWD, sizeof(*guests));
        struct series ours = { 0 }, theirs = { 0 };

        if (!guests)
                return -1;
        r = connect_crowd(b, guests);
        if (r == 0 && (series_open(&ours, "", rounds) < 0 || series_open(&theirs, "", rounds) < 0))
                r = -1;
        if (r == 0)
                r = measure(b, guests, rounds, &ours, &theirs, &good);
        if (r == 0) {
                printf("| %d creates + first command at once, %d rounds | succeeded | p50 ms | best ms "
                       "|\n|---|---|---|---|\n"
                       "| over REST | %d of %d | %.0f | %.0f |\n",
                       CROWD, rounds, good, CROWD * rounds, series_quantile(&ours, 0.5),
                       series_quantile(&ours, 0));
                if (theirs.count > 0)
                        printf("| bubblewrap, as many at once | %d of %d | %.0f | %.0f |\n",
                               CROWD * theirs.count, CROWD * rounds, series_quantile(&theirs, 0.5),
                               series_quantile(&theirs, 0));
                printf("\nWanted: all, within 500 ms.\n\n");
                r = good == CROWD * rounds ? 0 : -1;
        }
        for (int i = 0; i < CROWD; i++)
                client_close(&guests[i].client);
        series_close(&ours);
        series_close(&theirs);
        free(guests);
        return r;
}
