/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of finished jobs: first finished, first told. */

#include "foundation/base/job.h"

#include <assert.h>

void cay_job_queue_init(struct cay_job_queue *q)
{
        q->head = NULL;
        q->tail = &q->head;
}

void cay_job_init(struct cay_job *job, void (*on_done)(struct cay_job *job))
{
        *job = (struct cay_job){ .on_done = on_done };
}

void cay_job_finish(struct cay_job_queue *q, struct cay_job *job, const struct cay_error *err)
{
        assert(!job->queued);
        if (!err)
                job->err = (struct cay_error){ .code = CAY_OK };
        else if (err != &job->err)
                job->err = *err;
        job->done = true;
        job->queued = true;
        job->next = NULL;
        *q->tail = job;
        q->tail = &job->next;
}

bool cay_job_queue_drain(struct cay_job_queue *q)
{
        struct cay_job *job = q->head;
        bool any = job != NULL;

        /*
         * Taken off first: what on_done finishes waits for the next drain, and no chain of jobs can hold up
         * the rest.
         */
        cay_job_queue_init(q);
        while (job) {
                struct cay_job *next = job->next;

                job->next = NULL;
                job->queued = false;
                if (job->on_done)
                        job->on_done(job); /* job may be gone or queued again */
                job = next;
        }
        return any;
}
