/* SPDX-License-Identifier: Apache-2.0 */
/* Of the spool's sources: its runs, each the start of a stretch of one stream. */
#pragma once

#include "domain/sandboxes/spool.h"

#define CAY_SPOOL_RUN_STREAM_BITS 1
#define CAY_SPOOL_CURSOR_MAX (UINT64_MAX >> (CAY_SPOOL_RUN_STREAM_BITS + 1))

struct cay_spool_run { /* as it is in the file */
        uint64_t word; /* start and stream */
        uint32_t number;
        uint32_t sum;
};

void cay_spool_run_fill(struct cay_spool_run *run, uint64_t number, uint64_t start, unsigned stream);
/* Some of them as they are in the file, which may be anything. 0 or -EBADMSG. */
int cay_spool_runs_read(const struct cay_spool *sp, uint64_t run, struct cay_spool_run *ret, unsigned count);
/* Of a file that was just opened: what is only in memory. Runs that are damaged are passed over. */
void cay_spool_runs_load(struct cay_spool *sp);
/* After next->run_first has grown, before `next` is in the file: where the one behind it starts. */
void cay_spool_runs_find_second(const struct cay_spool *sp, struct cay_spool *next);
/*
 * The run that holds a cursor of [oldest, end), and where the next one starts. -EBADMSG: it is damaged, or one that may be behind
 * it is, and *ret_next is where the next good one starts.
 */
int cay_spool_runs_find(const struct cay_spool *sp, struct cay_spool_place *place, uint64_t *ret_next,
                        unsigned *ret_stream);
