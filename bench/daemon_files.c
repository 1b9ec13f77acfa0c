/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Design row 10: one large file into a sandbox and out of it, in turns with a plain copy over loopback: one
 * process reads and sends, the other receives and writes to a file of the same file system (in), or only
 * counts (out). Also: that memory stays what it was.
 */

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon_rows.h"
#include "goals.h"
#include "loopback.h"

#define MEBI (1024ull * 1024ull)

enum { ROUNDS_MAX = 3, BLOCK = 262144 };
enum { IN, IN_PLAIN, OUT, OUT_PLAIN, SERIES };

struct transfer {
        struct bench *bench;
        unsigned long long bytes;
        char *block; /* owned: BLOCK bytes that are sent over and over */
        char url[192];
        char file[PATH_MAX + 16]; /* of the plain copy */
};

static int write_all(int fd, const char *bytes, size_t len)
{
        while (len > 0) {
                ssize_t n = write(fd, bytes, len);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return -1;
                bytes += n;
                len -= (size_t)n;
        }
        return 0;
}

static int send_blocks(const struct transfer *t, int fd)
{
        for (unsigned long long left = t->bytes; left > 0;) {
                size_t n = left < BLOCK ? (size_t)left : BLOCK;

                if (write_all(fd, t->block, n) < 0) {
                        perror("bench: files: send");
                        return -1;
                }
                left -= n;
        }
        return 0;
}

static int put(struct transfer *t, double *ret_ms)
{
        struct client *c = &t->bench->client;
        char text[CLIENT_TEXT_MAX];
        double begin = figures_now_ms();

        if (client_send_head(c, "PUT", t->url, t->bytes) < 0 || send_blocks(t, c->fd) < 0 ||
            client_take_text(c, text, sizeof(text)) < 0)
                return -1;
        *ret_ms = figures_now_ms() - begin;
        if (c->status == 200)
                return 0;
        fprintf(stderr, "bench: files: PUT: %d %.300s\n", c->status, text);
        return -1;
}

static int get(struct transfer *t, double *ret_ms)
{
        struct client *c = &t->bench->client;
        unsigned long long got = 0;
        double begin = figures_now_ms();
        const char *bytes;
        ssize_t n;

        if (client_send(c, "GET", t->url, "") < 0 || client_begin(c) < 0)
                return -1;
        while ((n = client_read(c, &bytes)) > 0)
                got += (unsigned long long)n;
        *ret_ms = figures_now_ms() - begin;
        if (n == 0 && c->status == 200 && got == t->bytes)
                return 0;
        fprintf(stderr, "bench: files: GET: %d, %llu bytes\n", c->status, got);
        return -1;
}

/* Copies from one descriptor to the other until the first ends; in a process of its own. */
static pid_t start_copy(int from, int to, int other)
{
        char *block;
        pid_t pid = fork();
        ssize_t n;

        if (pid != 0)
                return pid;
        close(other); /* its end is what is waited for */
        block = malloc(BLOCK);
        if (!block)
                _exit(1);
        while ((n = read(from, block, BLOCK)) > 0)
                if (write_all(to, block, (size_t)n) < 0)
                        _exit(1);
        _exit(n == 0 ? 0 : 1);
}

static int put_plain(struct transfer *t, double *ret_ms)
{
        int fds[2], file = open(t->file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        double begin;
        pid_t pid;
        int r;

        if (file < 0 || loopback_open(fds) < 0)
                return -1;
        begin = figures_now_ms();
        pid = start_copy(fds[1], file, fds[0]);
        close(fds[1]);
        close(file);
        r = send_blocks(t, fds[0]);
        close(fds[0]);
        if (pid < 0 || bench_wait(pid) != 0)
                r = -1;
        *ret_ms = figures_now_ms() - begin;
        return r;
}

static int get_plain(struct transfer *t, double *ret_ms)
{
        int fds[2], file = open(t->file, O_RDONLY | O_CLOEXEC);
        unsigned long long got = 0;
        char *block = malloc(BLOCK);
        double begin;
        ssize_t n;
        pid_t pid;

        if (!block || file < 0 || loopback_open(fds) < 0) {
                free(block);
                return -1;
        }
        begin = figures_now_ms();
        pid = start_copy(file, fds[1], fds[0]);
        close(fds[1]);
        close(file);
        while ((n = recv(fds[0], block, BLOCK, 0)) > 0)
                got += (unsigned long long)n;
        *ret_ms = figures_now_ms() - begin;
        close(fds[0]);
        free(block);
        return pid > 0 && bench_wait(pid) == 0 && got == t->bytes ? 0 : -1;
}

static int measure(struct transfer *t, struct series *s)
{
        static int (*const turns[SERIES])(struct transfer *, double *) = { put, put_plain, get, get_plain };

        for (int round = 0; round < s[0].max; round++) {
                for (int i = 0; i < SERIES; i++) {
                        double ms;

                        if (turns[i](t, &ms) < 0)
                                return -1;
                        series_add(&s[i], ms);
                }
        }
        return 0;
}

static void print(const struct transfer *t, const struct series *s, struct resident before)
{
        static const char *const names[SERIES] = { "in, over REST", "in, plain copy over loopback",
                                                   "out, over REST", "out, plain copy over loopback" };
        double mebibytes = (double)t->bytes / (double)MEBI;
        struct resident front = daemon_resident(t->bench->daemon.front);

        printf("| a file of %.0f MiB, %d rounds | MiB/s (p50) | × plain (p50) | × plain (per round) "
               "|\n|---|---|---|---|\n",
               mebibytes, s[0].count);
        for (int i = 0; i < SERIES; i++) {
                const struct series *plain = &s[i < OUT ? IN_PLAIN : OUT_PLAIN];

                printf("| %s | %.0f | %.2f | %.2f |\n", names[i],
                       mebibytes * 1e3 / series_quantile(&s[i], 0.5),
                       series_quantile(plain, 0.5) / series_quantile(&s[i], 0.5),
                       1 / series_ratio(&s[i], plain));
        }
        goals_note(GOAL_file_in, 1 / series_ratio(&s[IN], &s[IN_PLAIN]));
        goals_note(GOAL_file_out, 1 / series_ratio(&s[OUT], &s[OUT_PLAIN]));
        printf("\nThe front's resident memory: %ld "
               "KiB before, %ld KiB at most.\n\n",
               before.now, front.peak);
}

int row_files(struct bench *b)
{
        int rounds = b->rounds < ROUNDS_MAX ? b->rounds : ROUNDS_MAX, r;
        struct transfer t = { .bench = b,
                              .bytes = (unsigned long long)b->mebibytes * MEBI,
                              .block = malloc(BLOCK) };
        struct series s[SERIES] = { 0 };
        struct resident before;
        char id[64], body[96];

        /* A file is replaced when the new one is whole: there is room for both. */
        snprintf(body, sizeof(body), "{\"limits\":{\"disk\":\"%llum\"}}", t.bytes / MEBI * 9 / 4 + 64);
        if (!t.block || bench_create(&b->client, body, id, sizeof(id)) < 0) {
                free(t.block);
                return -1;
        }
        for (int i = 0; i < BLOCK; i++)
                t.block[i] = (char)(i * 31 + i / 256);
        snprintf(t.url, sizeof(t.url), "/api/sandboxes/%s/files?path=big", id);
        snprintf(t.file, sizeof(t.file), "%s/plain", b->daemon.folder);
        daemon_forget_peak(b->daemon.front);
        before = daemon_resident(b->daemon.front);
        r = 0;
        for (int i = 0; i < SERIES && r == 0; i++)
                r = series_open(&s[i], "", rounds);
        if (r == 0)
                r = measure(&t, s);
        if (r == 0)
                print(&t, s, before);
        for (int i = 0; i < SERIES; i++)
                series_close(&s[i]);
        unlink(t.file);
        free(t.block);
        return bench_destroy(&b->client, id) < 0 ? -1 : r;
}
