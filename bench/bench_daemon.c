/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemon's work costs, over REST on TCP loopback: the rows of the design that need `cay serve`, as
 * Markdown. Where a row has a peer, the two take turns in the same run, so that whatever else the machine
 * does falls on both; only ratios of one run compare.
 */

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "daemon_rows.h"
#include "goals.h"

enum { ROUNDS = 200, SANDBOXES = 10000, MEBIBYTES = 1024, ALIVE = 1000, NUMBER_MAX = 1000000 };

/* In this order: what needs much memory or leaves the machine warm comes last. */
static const struct {
        const char *name;
        int (*run)(struct bench *b);
} rows[] = {
        { "life", row_life }, { "pool", row_pool },         { "exec", row_exec },
        { "run", row_run },   { "programs", row_programs }, { "crowd", row_crowd },
        { "load", row_load }, { "flood", row_flood },       { "files", row_files },
        { "idle", row_idle }, { "alive", row_alive },       { "steady", row_steady },
};

int bench_create(struct client *c, const char *body, char *ret_id, size_t size)
{
        char text[CLIENT_TEXT_MAX];

        if (client_ask(c, "POST", "/api/sandboxes", body, text, sizeof(text)) < 0)
                return -1;
        if (client_find(text, "sandbox_id", ret_id, size))
                return 0;
        fprintf(stderr, "bench: no id in: %.300s\n", text);
        return -1;
}

int bench_true(struct client *c, const char *id)
{
        char path[128], text[CLIENT_TEXT_MAX];

        snprintf(path, sizeof(path), "/api/sandboxes/%s/execute", id);
        if (client_ask(c, "POST", path, "{\"command\":[\"/bin/true\"]}", text, sizeof(text)) < 0)
                return -1;
        if (strstr(text, "\"exit_code\":0"))
                return 0;
        fprintf(stderr, "bench: /bin/true: %.300s\n", text);
        return -1;
}

int bench_destroy(struct client *c, const char *id)
{
        char path[128], text[CLIENT_TEXT_MAX];

        snprintf(path, sizeof(path), "/api/sandboxes/%s", id);
        return client_ask(c, "DELETE", path, "", text, sizeof(text));
}

int bench_let_go(struct client *c, const char *id)
{
        char path[128], text[CLIENT_TEXT_MAX];

        snprintf(path, sizeof(path), "/api/sandboxes/%s?wait=false", id);
        return client_ask(c, "DELETE", path, "", text, sizeof(text));
}

int bench_wait(pid_t pid)
{
        int status = -1;

        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        return -1;
        return status;
}

/* Each row has a daemon of its own, so that it measures the same whether or not others ran before it. */
static int run_row(struct bench *b, size_t i)
{
        int r = daemon_start(&b->daemon, b->build);

        if (r == 0 && client_open(&b->client, b->daemon.port, b->daemon.token) == 0) {
                r = rows[i].run(b);
                client_close(&b->client);
        } else {
                r = -1;
        }
        if (daemon_stop(&b->daemon) < 0)
                r = -1;
        return r;
}

static int run_rows(struct bench *b, const char *only)
{
        int failed = 0;

        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
                if (!figures_is_wanted(only, rows[i].name))
                        continue;
                if (run_row(b, i) < 0) {
                        fprintf(stderr, "bench: row '%s' failed\n", rows[i].name);
                        failed = -1;
                }
                fflush(stdout);
        }
        return failed;
}

static void usage(FILE *out)
{
        fprintf(out, "usage: bench_daemon [--runs N] [--sandboxes N] [--mebibytes N] [--alive N] [--only "
                     "NAME,NAME…] "
                     "[BUILD]\nnames:");
        for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
                fprintf(out, " %s", rows[i].name);
        fprintf(out, "\n");
}

static bool parse_number(const char *flag, const char *text, int *ret)
{
        char *end;
        long n = strtol(text, &end, 10);

        if (end != text && *end == '\0' && n >= 1 && n <= NUMBER_MAX) {
                *ret = (int)n;
                return true;
        }
        fprintf(stderr, "bench: %s: a number from 1 to %d, not '%s'\n", flag, NUMBER_MAX, text);
        return false;
}

static int parse_args(int argc, char **argv, struct bench *b, const char **ret_only, const char **ret_build)
{
        const struct {
                const char *flag;
                int *value;
        } numbers[] = { { "--runs", &b->rounds },
                        { "--sandboxes", &b->sandboxes },
                        { "--mebibytes", &b->mebibytes },
                        { "--alive", &b->alive } };

        for (int i = 1; i < argc; i++) {
                bool is_known = false;

                for (size_t k = 0; k < sizeof(numbers) / sizeof(numbers[0]) && i + 1 < argc && !is_known;
                     k++) {
                        is_known = strcmp(argv[i], numbers[k].flag) == 0;
                        if (is_known && !parse_number(argv[i], argv[i + 1], numbers[k].value))
                                return -1;
                }
                if (!is_known && strcmp(argv[i], "--only") == 0 && i + 1 < argc) {
                        *ret_only = argv[i + 1];
                        is_known = true;
                }
                if (is_known) {
                        i++;
                } else if (argv[i][0] != '-') {
                        *ret_build = argv[i];
                } else {
                        usage(stderr);
                        return -1;
                }
        }
        return 0;
}

int main(int argc, char **argv)
{
        struct bench b = { .rounds = ROUNDS,
                           .sandboxes = SANDBOXES,
                           .mebibytes = MEBIBYTES,
                           .alive = ALIVE,
                           .client.fd = -1 };
        const char *only = NULL, *build = "build";
        struct rival rival = { 0 };
        int r;

        if (argc == 2 && strcmp(argv[1], "--help") == 0) {
                usage(stdout);
                return 0;
        }
        if (parse_args(argc, argv, &b, &only, &build) < 0)
                return 2;
        b.build = build;
        rivals_print_machine(b.rounds);
        if (rivals_open(RIVAL_BUBBLEWRAP, build, &rival) == 0) {
                rivals_print_command(&rival);
                b.bubblewrap = &rival;
        }
        printf("\n");
        r = run_rows(&b, only);
        rivals_close(&rival);
        if (r < 0)
                return 2;
        return goals_report(false) < 0 ? 1 : 0;
}
