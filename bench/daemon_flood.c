/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Design row 9: what a command prints as fast as it can, to an HTTP client as bytes and as a stream of
 * events, in turns with the same command through `cat` into a socket over loopback. Lines of text: as events
 * they are a little more on the wire than was printed. The client counts, and the command's own count at the
 * end must be equal.
 */

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon_rows.h"
#include "goals.h"
#include "loopback.h"

#define MEBI (1024ull * 1024ull)
#define FLOOD "yes 0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ- | head -c %llu"

enum { MEBIBYTES = 256, ROUNDS_MAX = 5, BLOCK = 262144, TAIL = 512 };

/* Keeps the end of what goes by: the last event is in it. */
static void keep_tail(char tail[TAIL + 1], const char *bytes, size_t len)
{
        size_t have = strlen(tail), room = TAIL - have;

        if (len >= TAIL) {
                memcpy(tail, bytes + len - TAIL, TAIL);
                tail[TAIL] = '\0';
                return;
        }
        if (len > room) {
                memmove(tail, tail + (len - room), have - (len - room));
                have -= len - room;
        }
        memcpy(tail + have, bytes, len);
        tail[have + len] = '\0';
}

static int take_stream(struct client *c, const char *id, unsigned long long bytes, double *ret_ms,
                       unsigned long long *ret_wire)
{
        char path[128], body[512], tail[TAIL + 1] = "", wanted[64];
        const char *got = NULL;
        ssize_t n;
        double begin = figures_now_ms();

        snprintf(path, sizeof(path), "/api/sandboxes/%s/execute", id);
        snprintf(body, sizeof(body), "{\"stream\":true,\"command\":\"" FLOOD "\"}", bytes);
        if (client_send(c, "POST", path, body) < 0 || client_begin(c) < 0)
                return -1;
        *ret_wire = 0;
        while ((n = client_read(c, &got)) > 0) {
                *ret_wire += (unsigned long long)n;
                keep_tail(tail, got, (size_t)n);
        }
        *ret_ms = figures_now_ms() - begin;
        snprintf(wanted, sizeof(wanted), "\"stdout_bytes\":%llu,", bytes);
        if (n == 0 && c->status == 200 && strstr(tail, wanted))
                return 0;
        fprintf(stderr, "bench: flood: status %d, the end was: %s\n", c->status, tail);
        return -1;
}

/* Started in the background, then followed from its first byte. */
static int take_raw(struct client *c, const char *id, unsigned long long bytes, double *ret_ms)
{
        char path[256], body[512], text[CLIENT_TEXT_MAX], exec[64];
        unsigned long long got = 0;
        const char *piece = NULL;
        ssize_t n;
        double begin = figures_now_ms();

        snprintf(path, sizeof(path), "/api/sandboxes/%s/execute", id);
        snprintf(body, sizeof(body), "{\"background\":true,\"command\":\"" FLOOD "\"}", bytes);
        if (client_ask(c, "POST", path, body, text, sizeof(text)) < 0 ||
            !client_find(text, "exec_id", exec, sizeof(exec)))
                return -1;
        snprintf(path, sizeof(path), "/api/sandboxes/%s/execs/%s/output?from=0&raw=true", id, exec);
        if (client_send(c, "GET", path, "") < 0 || client_begin(c) < 0)
                return -1;
        while ((n = client_read(c, &piece)) > 0)
                got += (unsigned long long)n;
        *ret_ms = figures_now_ms() - begin;
        if (n == 0 && c->status == 200 && got == bytes)
                return 0;
        fprintf(stderr, "bench: flood: status %d, %llu of %llu bytes\n", c->status, got, bytes);
        return -1;
}

static pid_t start_cat(int out, unsigned long long bytes)
{
        char line[512];
        pid_t pid = fork();

        if (pid != 0)
                return pid;
        snprintf(line, sizeof(line), FLOOD " | cat", bytes);
        dup2(out, STDOUT_FILENO);
        signal(SIGPIPE, SIG_DFL);
        execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(127);
}

static int take_cat(unsigned long long bytes, double *ret_ms)
{
        char *block = malloc(BLOCK);
        unsigned long long got = 0;
        double begin;
        int fds[2];
        ssize_t n;
        pid_t pid;

        if (!block || loopback_open(fds) < 0) {
                free(block);
                return -1;
        }
        begin = figures_now_ms();
        pid = start_cat(fds[1], bytes);
        close(fds[1]);
        while ((n = recv(fds[0], block, BLOCK, 0)) > 0)
                got += (unsigned long long)n;
        *ret_ms = figures_now_ms() - begin;
        close(fds[0]);
        free(block);
        return pid > 0 && bench_wait(pid) == 0 && got == bytes ? 0 : -1;
}

enum { RAW, EVENTS, CAT, SERIES };

static int measure(struct bench *b, const char *id, struct series *s, unsigned long long *ret_wire)
{
        for (int round = -1; round < s[0].max; round++) {
                double ms[SERIES];

                if (take_raw(&b->client, id, MEBIBYTES * MEBI, &ms[RAW]) < 0 ||
                    take_stream(&b->client, id, MEBIBYTES * MEBI, &ms[EVENTS], ret_wire) < 0 ||
                    take_cat(MEBIBYTES * MEBI, &ms[CAT]) < 0)
                        return -1;
                for (int i = 0; i < SERIES && round >= 0; i++)
                        series_add(&s[i], ms[i]);
        }
        return 0;
}

static void print(const struct series *s, unsigned long long wire, struct resident before,
                  struct resident after)
{
        static const char *const names[SERIES] = { "bytes over HTTP", "events (NDJSON) over HTTP",
                                                   "cat over loopback" };

        printf("| %d MiB of lines on stdout, %d rounds | MiB/s (p50) | × cat (p50) | × cat (per round) "
               "|\n|---|---|---|---|\n",
               MEBIBYTES, s[0].count);
        for (int i = 0; i < SERIES; i++)
                printf("| %s | %.0f | %.2f | %.2f |\n", names[i],
                       MEBIBYTES * 1e3 / series_quantile(&s[i], 0.5),
                       series_quantile(&s[CAT], 0.5) / series_quantile(&s[i], 0.5),
                       1 / series_ratio(&s[i], &s[CAT]));
        goals_note(GOAL_flood_bytes, 1 / series_ratio(&s[RAW], &s[CAT]));
        goals_note(GOAL_flood_events, 1 / series_ratio(&s[EVENTS], &s[CAT]));
        printf("\nEvents are %.2f × the bytes on the wire. The front's resident "
               "memory: %ld KiB before, "
               "%ld KiB at most.\n\n",
               (double)wire / (double)(MEBIBYTES * MEBI), before.now, after.peak);
}

int row_flood(struct bench *b)
{
        int rounds = b->rounds < ROUNDS_MAX ? b->rounds : ROUNDS_MAX;
        struct series s[SERIES] = { 0 };
        struct resident before;
        unsigned long long wire = 0;
        char id[64];
        int r = bench_create(&b->client, "{}", id, sizeof(id));

        if (r < 0)
                return -1;
        daemon_forget_peak(b->daemon.front);
        before = daemon_resident(b->daemon.front);
        for (int i = 0; i < SERIES && r == 0; i++)
                r = series_open(&s[i], "", rounds);
        if (r == 0)
                r = measure(b, id, s, &wire);
        if (r == 0)
                print(s, wire, before, daemon_resident(b->daemon.front));
        for (int i = 0; i < SERIES; i++)
                series_close(&s[i]);
        return bench_destroy(&b->client, id) < 0 ? -1 : r;
}
