/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of `make bench` that need a daemon: one function in one file each, taken from the table in
 * bench_daemon.c. A row prints its own part of the report (Markdown) and returns 0, or -1 after saying on
 * stderr what went wrong.
 */
#pragma once

#include "daemon.h"
#include "figures.h"
#include "http_client.h"
#include "rivals.h"

struct bench {
        struct daemon daemon;
        struct client client; /* one keep-alive connection, for rows that need one */
        /* NULL: not on this machine. Opened before the daemon: it waits for every child */
        struct rival *bubblewrap;
        int rounds;        /* of rows that take turns */
        int sandboxes;     /* made and unmade for the row on memory */
        int mebibytes;     /* of a transferred file */
        int alive;         /* at most, for the row on many sandboxes */
        const char *build; /* borrowed */
};

int row_life(struct bench *b); /* create + exec + destroy */
/* Until so many boxes are ready. */
int bench_await_pool(struct bench *b, long count);
int row_pool(struct bench *b);     /* the same and a hundred at once, from a warm pool */
int row_exec(struct bench *b);     /* a command in a running sandbox */
int row_run(struct bench *b);      /* POST /api/run beside `cay run` */
int row_programs(struct bench *b); /* many small programs, four at once */
int row_crowd(struct bench *b);    /* a hundred at once */
int row_load(struct bench *b);     /* answers while sandboxes take both processors */
int row_flood(struct bench *b);    /* stdout without end */
int row_files(struct bench *b);    /* a large file in and out */
int row_idle(struct bench *b);     /* memory of idle sandboxes */
int row_alive(struct bench *b);    /* what a sandbox costs while many are alive */
int row_steady(struct bench *b);   /* memory of the daemon over thousands of sandboxes */

/* A hundred clients at once, as row_crowd and row_pool have them. */
struct crowd {
        struct series ours, theirs; /* a round each: from the first request to the last answer */
        int rounds, good;           /* good: of all guests of all rounds */
};

int crowd_open(struct crowd *c, int rounds); /* at most ten; close it whatever it returns */
void crowd_close(struct crowd *c);
int crowd_measure(struct bench *b, struct crowd *c,
                  int (*before)(struct bench *b)); /* NULL: nothing to wait for */
void crowd_print(const struct crowd *c, const char *name);

/* What several rows do. */
int bench_create(struct client *c, const char *body, char *ret_id, size_t size);
int bench_true(struct client *c, const char *id);
int bench_destroy(struct client *c, const char *id);
int bench_let_go(struct client *c, const char *id); /* the same, without waiting for its end */
int bench_wait(pid_t pid); /* for this child alone: the daemon is one too; 0 when its status is */
