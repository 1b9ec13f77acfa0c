/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer's work: batches into the database, in groups.
 *
 * Theory of operation. A group is one transaction with a savepoint per batch: a batch that is refused (its claim is taken) undoes
 * itself and the others go on. When the transaction itself fails, nothing of it is there, and each batch is tried again on
 * its own: one that is too big for the disk must not take the small ones down with it. What ages (claims, events, ended
 * execs) is thinned out as part of the transaction that adds to it, so no table grows beyond its bound for long.
 * Whoever has most loses first: one owner's noise does not push out what another one has.
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
        int64_t claims, events;        /* how many there are; -1: to be counted */
        unsigned claims_added, events_added, execs_added; /* since they were thinned out */
        bool is_sure;                                     /* connection is at synchronous=FULL */
        int log_pages;                                    /* in the log, as of the last commit */
};

/* db is open already. */
void cay_apply_init(struct cay_apply *a, const struct cay_clock *clock, uint64_t offset_ms);

uint64_t cay_apply_now_ms(const struct cay_apply *a);
/* Commits a list of batches; each one's err says how it went. */
void cay_apply_group(struct cay_apply *a, struct cay_store_batch *list);
/*
 * Brings the log's pages into the database when there are enough; sooner when nobody waits. Between commits, for it syncs
 * the disk (measured: 8 to 70 ms), and whoever was answered already need not wait for that.
 */
void cay_apply_checkpoint(struct cay_apply *a, bool is_idle);
bool cay_apply_is_untidy(const struct cay_apply *a); /* an idle moment would be used */
/* Where the store's time stands, into the values. */
int cay_apply_mark(struct cay_apply *a, struct cay_error *err);
