/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `cay bench` asks of a daemon. Sandboxes that it makes carry a label, live for minutes at most whatever
 * becomes of us, and are known here until they are destroyed: cay_bench_daemon_close takes away what an
 * interrupted round has left.
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
/* So many at once: all made, /bin/true in all, all destroyed. */
int cay_bench_crowd(struct cay_bench_daemon *d, struct cay_error *err);
