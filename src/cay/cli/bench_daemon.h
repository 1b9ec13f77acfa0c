/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `cay bench` asks of a daemon. Its sandboxes carry a label, live for minutes at most, and are
 * remembered here until they are destroyed: cay_bench_daemon_close removes what an interrupted round left.
 */
#pragma once

#include "cay/cli/reach.h"

#define CAY_BENCH_CROWD_MAX 64u
#define CAY_BENCH_FILE_BYTES (8u * 1024 * 1024)

struct cay_bench_daemon;

struct cay_bench_daemon *cay_bench_daemon_open(struct cay_reach *reach, unsigned crowd); /* NULL: no memory */
/* Destroys what is left; accepts NULL. */
void cay_bench_daemon_close(struct cay_bench_daemon *d);

/* One sandbox, step by step. */
int cay_bench_create(struct cay_bench_daemon *d, struct cay_error *err);
int cay_bench_exec(struct cay_bench_daemon *d, struct cay_error *err); /* /bin/true, waited for */
int cay_bench_put(struct cay_bench_daemon *d, struct cay_error *err);  /* a file in */
int cay_bench_get(struct cay_bench_daemon *d, struct cay_error *err);  /* and out */
int cay_bench_destroy(struct cay_bench_daemon *d, struct cay_error *err);
/* A batch: all are made, /bin/true runs in all, all are destroyed. */
int cay_bench_crowd(struct cay_bench_daemon *d, struct cay_error *err);
