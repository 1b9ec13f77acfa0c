/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Design row 6: a hundred clients at once, each of which creates a sandbox and runs its first command. Timed
 * from the first request to the last command's answer; clients are connected before. In turns with a hundred
 * bubblewrap runs at once.
 */

#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon_rows.h"
#include "goals.h"

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

static int connect_crowd(struct bench *b, struct guest *guests)
{
        for (int i = 0; i < CROWD; i++)
                guests[i].client.fd = -1;
        for (int i = 0; i < CROWD; i++)
                if (client_open(&guests[i].client, b->daemon.port, b->daemon.token) < 0)
                        return -1;
        return 0;
}

/* A pool may fill, and bubblewrap run, for longer than the daemon keeps an idle connection. */
static int renew_crowd(struct guest *guests)
{
        for (int i = 0; i < CROWD; i++)
                if (client_renew(&guests[i].client) < 0)
                        return -1;
        return 0;
}

static void close_crowd(struct guest *guests)
{
        for (int i = 0; i < CROWD; i++)
                client_close(&guests[i].client);
        free(guests);
}

int crowd_measure(struct bench *b, struct crowd *c, int (*before)(struct bench *b))
{
        struct guest *guests = calloc(CROWD, sizeof(*guests));
        int r = guests ? connect_crowd(b, guests) : -1;

        for (int round = 0; round < c->rounds && r == 0; round++) {
                double ms;
                int good;

                if (client_renew(&b->client) < 0 || (before && before(b) < 0) || renew_crowd(guests) < 0 ||
                    run_crowd(guests, &ms) < 0 || client_renew(&b->client) < 0 ||
                    end_crowd(b, guests, &good) < 0) {
                        r = -1;
                        break;
                }
                series_add(&c->ours, ms);
                c->good += good;
                if (b->bubblewrap && run_bubblewraps(b->bubblewrap, &ms) == 0)
                        series_add(&c->theirs, ms);
        }
        if (guests)
                close_crowd(guests);
        return r;
}

int crowd_open(struct crowd *c, int rounds)
{
        *c = (struct crowd){ .rounds = rounds < ROUNDS_MAX ? rounds : ROUNDS_MAX };
        return series_open(&c->ours, "", c->rounds) < 0 || series_open(&c->theirs, "", c->rounds) < 0 ? -1
                                                                                                      : 0;
}

void crowd_close(struct crowd *c)
{
        series_close(&c->ours);
        series_close(&c->theirs);
}

static void print_line(const char *name, int good, int all, const struct series *s)
{
        printf("| %s | %d of %d | %.0f | %.0f | %.0f | %.0f |\n", name, good, all, series_quantile(s, 0.5),
               series_quantile(s, 0.9), series_quantile(s, 0.99), series_quantile(s, 0));
}

void crowd_print(const struct crowd *c, const char *name)
{
        printf("| %d creates + first command at once, %d rounds | succeeded | p50 ms | p90 | p99 | best |\n"
               "|---|---|---|---|---|---|\n",
               CROWD, c->rounds);
        print_line(name, c->good, CROWD * c->rounds, &c->ours);
        if (c->theirs.count > 0)
                print_line("bubblewrap, as many at once", CROWD * c->theirs.count, CROWD * c->theirs.count,
                           &c->theirs);
        printf("\n");
}

int row_crowd(struct bench *b)
{
        struct crowd c;
        int r = crowd_open(&c, b->rounds);

        if (r == 0)
                r = crowd_measure(b, &c, NULL);
        if (r == 0) {
                crowd_print(&c, "over REST");
                goals_note(GOAL_crowd_good, (double)c.good / (CROWD * c.rounds));
                if (c.theirs.count > 0)
                        goals_note(GOAL_crowd, series_ratio(&c.ours, &c.theirs));
        }
        crowd_close(&c);
        return r;
}
