/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer: stores batches in groups.
 *
 * Theory of operation. A group is one transaction with a savepoint per batch. A batch that is refused (its
 * claim is taken) is rolled back, and the others continue. When the transaction itself fails, nothing of it
 * is stored, and each batch is tried again alone: one that is too big for the disk must not fail the small
 * ones. Rows that expire (claims, events, ended execs) are thinned out in the transaction that adds to them,
 * so no table exceeds its bound for long. The owner with most rows loses first, so one owner's noise does not
 * evict another's rows.
 */
#pragma once

#include "domain/model/port_clock.h"
#include "daemon/store/batch.h"
#include "daemon/store/db.h"
#include "daemon/store/reserve.h"
#include "daemon/store/timeline.h"

struct cay_apply {
        struct cay_db db;
        struct cay_reserve reserve;
        const struct cay_clock *clock; /* borrowed */
        uint64_t offset_ms;            /* store time = boot clock + this (wraps on purpose) */
        uint64_t marked_ms;            /* store time of the last mark written */
        int64_t claims, events;        /* number of rows; -1: to be counted */
        unsigned claims_added, events_added, execs_added; /* since the last thinning */
        bool is_sure;                                     /* connection is at synchronous=FULL */
        int log_pages;                                    /* in the log, as of the last commit */
};

/* db is open already. */
void cay_apply_init(struct cay_apply *a, const struct cay_clock *clock, uint64_t offset_ms);

uint64_t cay_apply_now_ms(const struct cay_apply *a);
/* Commits a list of batches; each batch's err has its result. */
void cay_apply_group(struct cay_apply *a, struct cay_store_batch *list);
/*
 * Checkpoints: moves the log's pages into the database when there are enough, or sooner when idle. It runs
 * between commits because it syncs the disk (measured: 8 to 70 ms); callers that have their answer need not
 * wait for it.
 */
void cay_apply_checkpoint(struct cay_apply *a, bool is_idle);
bool cay_apply_is_untidy(const struct cay_apply *a); /* there is work for an idle moment */
/* Stores the current store time in the values. */
int cay_apply_mark(struct cay_apply *a, struct cay_error *err);
