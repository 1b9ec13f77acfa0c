/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A job is a promise: finished exactly once; on_done runs from the queue's drain, never inside the call that
 * started or finished it, so the order is the same whether an engine answers at once or later. The queue is
 * data; the loop drains it each round.
 */
#pragma once

#include <stdbool.h>

#include "foundation/base/error.h"

struct cay_job {
        void (*on_done)(struct cay_job *job);
        struct cay_error err; /* code CAY_OK on success */
        struct cay_job *next; /* of the queue */
        bool done;            /* was finished; true until cay_job_init */
        bool queued;          /* waits for the drain */
};

struct cay_job_queue {
        struct cay_job *head, **tail;
};

void cay_job_queue_init(struct cay_job_queue *q);
void cay_job_init(struct cay_job *job, void (*on_done)(struct cay_job *job));
/*
 * err NULL = success. Finishing again before on_done ran is a programming mistake (assert). on_done may be
 * NULL, may free the job and may start it again (the next step of a longer operation), with or without
 * cay_job_init.
 */
void cay_job_finish(struct cay_job_queue *q, struct cay_job *job, const struct cay_error *err);
bool cay_job_queue_drain(struct cay_job_queue *q); /* runs what is queued now; true if anything ran */
