/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the spool's sources: runs, each the start of a stretch of one stream. */
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
/* Reads some of them; their content may be anything. 0 or -EBADMSG. */
int cay_spool_runs_read(const struct cay_spool *sp, uint64_t run, struct cay_spool_run *ret, unsigned count);
/* For a file that was just opened: rebuilds what is only in memory. Damaged runs are skipped. */
void cay_spool_runs_load(struct cay_spool *sp);
/* After next->run_first has grown, before `next` is in the file: finds the start of the following run. */
void cay_spool_runs_find_second(const struct cay_spool *sp, struct cay_spool *next);
/*
 * The run that holds a cursor of [oldest, end), and where the next one starts. -EBADMSG: it, or one that may
 * follow it, is damaged, and *ret_next is the start of the next intact one.
 */
int cay_spool_runs_find(const struct cay_spool *sp, struct cay_spool_place *place, uint64_t *ret_next,
                        unsigned *ret_stream);
