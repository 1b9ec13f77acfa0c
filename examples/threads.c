/* SPDX-License-Identifier: Apache-2.0 */
/*
 * threads [THREADS [RUNS]]: several threads, each with a task of its own that it runs several times; live
 * output, counted.
 *
 *         cc threads.c $(pkg-config --cflags --libs cay) -pthread -o threads
 *
 * Exits with 0 when every run did what it should.
 */
#include <cay.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS_MAX 64

struct worker {
        pthread_t thread;
        int number, runs, good;
        size_t bytes; /* of output, in the run that is under way */
};

/* Called in the worker's own thread: no lock is needed. */
static int count(void *ctx, int stream, const void *bytes, size_t len)
{
        struct worker *w = ctx;

        (void)bytes;
        if (stream == CAY_STDOUT)
                w->bytes += len;
        return 0;
}

static void run(struct worker *w, struct cay_task *task)
{
        struct cay_result *result = NULL;

        w->bytes = 0;
        if (cay_task_run(task, &result) != 0)
                fprintf(stderr, "thread %d: %s\n", w->number, cay_task_error(task));
        else if (cay_result_exit_code(result) != w->number || w->bytes != 6)
                fprintf(stderr, "thread %d: %s: %s, %zu bytes\n", w->number, cay_result_cause(result),
                        cay_result_text(result), w->bytes);
        else
                w->good++;
        cay_result_free(result);
}

static void *work(void *arg)
{
        struct worker *w = arg;
        struct cay_task *task = cay_task_new();
        char script[64];
        const char *command[] = { "/bin/sh", "-c", script, NULL };

        snprintf(script, sizeof(script), "echo hello; exit %d", w->number);
        if (task != NULL && cay_task_set_command(task, command) == 0 &&
            cay_task_set_output(task, count, w) == 0)
                for (int i = 0; i < w->runs; i++)
                        run(w, task);
        cay_task_free(task);
        return NULL;
}

int main(int argc, char **argv)
{
        struct worker workers[THREADS_MAX] = { 0 };
        int threads = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 4;
        int runs = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 5;
        int started = 0, good = 0;

        if (threads < 1 || threads > THREADS_MAX || runs < 1) {
                fprintf(stderr, "usage: threads [THREADS [RUNS]]\n");
                return 2;
        }
        for (; started < threads; started++) {
                workers[started].number = started;
                workers[started].runs = runs;
                if (pthread_create(&workers[started].thread, NULL, work, &workers[started]) != 0)
                        break;
        }
        for (int i = 0; i < started; i++) {
                pthread_join(workers[i].thread, NULL);
                good += workers[i].good;
        }
        printf("%d of %d runs were good\n", good, threads * runs);
        return good == threads * runs ? 0 : 1;
}
