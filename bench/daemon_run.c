/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One-shots: POST /api/run beside `cay run`, for /bin/true, and for many small Python programs of our own,
 * each of which checks its own result, four at once: on the bare machine, by `cay run`, by POST /api/run.
 * Programs that fail end the row.
 */

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "daemon_rows.h"
#include "goals.h"

enum { PROGRAMS = 164, AT_ONCE = 4, PROGRAMS_ROUNDS = 5, PATIENCE_MS = 60000, CODE_MAX = 512, WARMUP = 3 };

/* @ is the program's number. No quotes or backslashes: the text is put into JSON as it is. */
static const char *const kinds[] = {
        "n=@+20;p=[i for i in range(2,n) if all(i%j for j in range(2,i))];assert p[0]==2 and max(p)<n",
        "a=[(i*@+7)%101 for i in range(300)];b=sorted(a);assert all(x<=y for x,y in zip(b,b[1:])) and "
        "sum(a)==sum(b)",
        "import json;d={str(i):[i,i*@] for i in range(50)};assert json.loads(json.dumps(d))==d",
        "import re;t=str(@)*20;assert re.sub(str(@),str(),t)==str()",
        "from collections import Counter;c=Counter(str(7**(@+50)));assert "
        "sum(c.values())==len(str(7**(@+50)))",
        "f=lambda n:n if n<2 else f(n-1)+f(n-2);assert f(@%12)>=0",
        "m=[[i*j+@ for j in range(12)] for i in range(12)];t=list(map(list,zip(*m)));assert "
        "list(map(list,zip(*t)))==m",
        "import hashlib;assert len(hashlib.sha256(bytes(@+1)).hexdigest())==64",
        "from fractions import Fraction as F;assert sum(F(1,k*(k+1)) for k in "
        "range(1,@+2))==1-F(1,@+2)",
        "import itertools as t;assert len(list(t.permutations(range(@%5+1))))>=1",
        "def g(n):\n yield n\n if n:yield from g(n-1)\nassert sum(g(@))==@*(@+1)//2",
        "class A:\n def __init__(s,v):s.v=v\n def __add__(s,o):return A(s.v+o.v)\nassert "
        "(A(@)+A(1)).v==@+1",
};

static void write_program(int nr, bool for_json, char *to, size_t size)
{
        size_t len = 0;

        for (const char *at = kinds[(size_t)nr % (sizeof(kinds) / sizeof(kinds[0]))]; *at && len + 16 < size;
             at++) {
                if (*at == '@')
                        len += (size_t)snprintf(to + len, size - len, "%d", nr);
                else if (for_json && *at == '\n')
                        len += (size_t)snprintf(to + len, size - len, "\\n");
                else
                        to[len++] = *at;
        }
        to[len] = '\0';
}

/* Programs of this machine, `argv` with the code as its last word. */
static int run_processes(char **argv, int words, double *ret_ms)
{
        char code[CODE_MAX];
        double begin = figures_now_ms();
        int started = 0, running = 0, status;

        argv[words] = code;
        argv[words + 1] = NULL;
        while (started < PROGRAMS || running > 0) {
                pid_t pid;

                if (started < PROGRAMS && running < AT_ONCE) {
                        write_program(started++, false, code, sizeof(code));
                        if (rivals_spawn(argv, &pid) < 0)
                                return -1;
                        running++;
                        continue;
                }
                if (waitpid(-1, &status, 0) < 0)
                        return -1;
                running--;
                if (status != 0) {
                        fprintf(stderr, "bench: programs: one of them ended with wait status %d\n", status);
                        return -1;
                }
        }
        *ret_ms = figures_now_ms() - begin;
        return 0;
}

static int send_program(struct client *c, int nr)
{
        char code[CODE_MAX], body[CODE_MAX + 128];

        write_program(nr, true, code, sizeof(code));
        snprintf(body, sizeof(body), "{\"command\":[\"/usr/bin/python3\",\"-c\",\"%s\"]}", code);
        return client_send(c, "POST", "/api/run", body);
}

static int run_requests(struct client *clients, double *ret_ms)
{
        static char text[CLIENT_TEXT_MAX];
        struct pollfd polls[AT_ONCE];
        bool is_busy[AT_ONCE];
        int sent = 0, done = 0;
        double begin;

        for (int i = 0; i < AT_ONCE; i++) /* the other programs may have taken long */
                if (client_renew(&clients[i]) < 0)
                        return -1;
        begin = figures_now_ms();
        for (int i = 0; i < AT_ONCE; i++) {
                if (send_program(&clients[i], sent++) < 0)
                        return -1;
                is_busy[i] = true;
        }
        while (done < PROGRAMS) {
                for (int i = 0; i < AT_ONCE; i++)
                        polls[i] = (struct pollfd){ .fd = is_busy[i] ? clients[i].fd : -1, .events = POLLIN };
                if (poll(polls, AT_ONCE, PATIENCE_MS) <= 0)
                        return -1;
                for (int i = 0; i < AT_ONCE; i++) {
                        if (!polls[i].revents)
                                continue;
                        if (client_take_text(&clients[i], text, sizeof(text)) < 0 ||
                            clients[i].status / 100 != 2 || !strstr(text, "\"exit_code\":0")) {
                                fprintf(stderr, "bench: programs: %d %.400s\n", clients[i].status, text);
                                return -1;
                        }
                        done++;
                        is_busy[i] = sent < PROGRAMS;
                        if (is_busy[i] && send_program(&clients[i], sent++) < 0)
                                return -1;
                }
        }
        *ret_ms = figures_now_ms() - begin;
        return 0;
}

enum { BARE, BY_RUN, BY_API, BY_POOL, WAYS };

static int open_clients(struct bench *b, struct client *clients)
{
        int r = 0;

        for (int i = 0; i < AT_ONCE; i++)
                clients[i].fd = -1;
        for (int i = 0; i < AT_ONCE && r == 0; i++)
                r = client_open(&clients[i], b->daemon.port, b->daemon.token);
        return r;
}

static void close_clients(struct client *clients)
{
        for (int i = 0; i < AT_ONCE; i++)
                client_close(&clients[i]);
}

/* A box for each program is made ahead, as between the requests of people, with an interpreter that waits. */
static int take_pooled(struct bench *pooled, struct client *clients, double *ret_ms)
{
        if (client_renew(&pooled->client) < 0 || bench_await_pool(pooled, PROGRAMS) < 0)
                return -1;
        return run_requests(clients, ret_ms);
}

static int take_programs(const struct bench *b, struct client *clients, double ms[WAYS])
{
        char cay[4096];
        char *bare[8] = { "/usr/bin/python3", "-c" },
             *run[12] = { cay, "run", "--cpus", "2", "--", "/usr/bin/python3", "-c" };

        snprintf(cay, sizeof(cay), "%s/cay", b->build);
        if (run_processes(bare, 2, &ms[BARE]) < 0 || run_processes(run, 7, &ms[BY_RUN]) < 0)
                return -1;
        return run_requests(clients, &ms[BY_API]);
}

static void print_programs(const struct series *s)
{
        static const char *const names[WAYS] = { "bare python3", "`cay run`", "POST /api/run",
                                                 "POST /api/run, from a pool" };

        printf("| %d small programs, %d at once, %d rounds | p50 ms | p90 | p99 | best | × bare (per round) "
               "|\n"
               "|---|---|---|---|---|---|\n",
               PROGRAMS, AT_ONCE, s[0].count);
        for (int i = 0; i < WAYS; i++)
                printf("| %s | %.0f | %.0f | %.0f | %.0f | %.2f |\n", names[i], series_quantile(&s[i], 0.5),
                       series_quantile(&s[i], 0.9), series_quantile(&s[i], 0.99), series_quantile(&s[i], 0),
                       series_ratio(&s[i], &s[BARE]));
        printf("\n");
        goals_note(GOAL_programs_run, series_ratio(&s[BY_RUN], &s[BARE]));
        goals_note(GOAL_programs_api, series_ratio(&s[BY_API], &s[BARE]));
        goals_note(GOAL_programs_pool, series_ratio(&s[BY_POOL], &s[BARE]));
}

static int start_pooled(struct bench *b, struct bench *ret)
{
        char *more[] = { "--pool", "164", "--pool-memory", "1g", "--max-sandboxes", "400", NULL };
        char text[CLIENT_TEXT_MAX];

        *ret = *b;
        ret->client = (struct client){ .fd = -1 };
        if (daemon_start_with(&ret->daemon, b->build, more) < 0 ||
            client_open(&ret->client, ret->daemon.port, ret->daemon.token) < 0)
                return -1;
        /* the first of its shape starts the pool */
        return client_ask(&ret->client, "POST", "/api/run", "{\"command\":[\"/bin/true\"]}", text,
                          sizeof(text));
}

int row_programs(struct bench *b)
{
        int rounds = b->rounds < PROGRAMS_ROUNDS ? b->rounds : PROGRAMS_ROUNDS, r = 0;
        struct client clients[AT_ONCE],
                pooled_clients[AT_ONCE] = { { .fd = -1 }, { .fd = -1 }, { .fd = -1 }, { .fd = -1 } };
        struct series s[WAYS] = { 0 };
        struct bench pooled;

        r = open_clients(b, clients);
        if (start_pooled(b, &pooled) < 0 || open_clients(&pooled, pooled_clients) < 0)
                r = -1;
        for (int i = 0; i < WAYS && r == 0; i++)
                r = series_open(&s[i], "", rounds);
        for (int round = 0; round < rounds && r == 0; round++) {
                double ms[WAYS];

                r = take_programs(b, clients, ms);
                if (r == 0)
                        r = take_pooled(&pooled, pooled_clients, &ms[BY_POOL]);
                for (int i = 0; i < WAYS && r == 0; i++)
                        series_add(&s[i], ms[i]);
        }
        if (r == 0)
                print_programs(s);
        close_clients(clients);
        close_clients(pooled_clients);
        client_close(&pooled.client);
        if (daemon_stop(&pooled.daemon) < 0)
                r = -1;
        for (int i = 0; i < WAYS; i++)
                series_close(&s[i]);
        return r;
}

enum { API, RUN, SERIES };

static int take_run(struct bench *b, double ms[SERIES])
{
        char cay[4096], text[CLIENT_TEXT_MAX];
        char *const argv[] = { cay, "run", "--", "/bin/true", NULL };
        double begin = figures_now_ms();
        pid_t pid;

        snprintf(cay, sizeof(cay), "%s/cay", b->build);
        if (client_ask(&b->client, "POST", "/api/run", "{\"command\":[\"/bin/true\"]}", text, sizeof(text)) <
            0)
                return -1;
        ms[API] = figures_now_ms() - begin;
        begin = figures_now_ms();
        if (rivals_spawn(argv, &pid) < 0 || bench_wait(pid) != 0)
                return -1;
        ms[RUN] = figures_now_ms() - begin;
        return 0;
}

int row_run(struct bench *b)
{
        static const char *const names[SERIES] = { "POST /api/run of /bin/true", "`cay run` of it" };
        struct series s[SERIES] = { 0 };
        int r = 0;

        for (int i = 0; i < SERIES && r == 0; i++)
                r = series_open(&s[i], names[i], b->rounds);
        for (int round = -WARMUP; round < b->rounds && r == 0; round++) {
                double ms[SERIES];

                r = take_run(b, ms);
                for (int i = 0; i < SERIES && r == 0 && round >= 0; i++)
                        series_add(&s[i], ms[i]);
        }
        if (r == 0) {
                printf("| one-shots, %d rounds | p50 ms | p90 | p99 | best |\n|---|---|---|---|---|\n",
                       b->rounds);
                for (int i = 0; i < SERIES; i++)
                        printf("| %s | %.2f | %.2f | %.2f | %.2f |\n", names[i], series_quantile(&s[i], 0.5),
                               series_quantile(&s[i], 0.9), series_quantile(&s[i], 0.99),
                               series_quantile(&s[i], 0));
                printf("\n");
                goals_note(GOAL_run_api, series_ratio(&s[API], &s[RUN]));
        }
        for (int i = 0; i < SERIES; i++)
                series_close(&s[i]);
        return r;
}
