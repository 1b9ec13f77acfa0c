/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The start of every op: before one that works inside a sandbox runs, a sandbox that sleeps is woken, and the
 * recording of one that is to be recorded begins.
 */
#include <stdlib.h>
#include <string.h>

#include "domain/ops/op.h"
#include "domain/sandboxes/recording.h"

struct waking {
        struct cay_service_call call;
        struct cay_op_call *op_call;
};

static void on_ready(struct cay_job *job)
{
        struct waking *w = cay_container_of(job, struct waking, call.job);
        struct cay_op_call *c = w->op_call;
        struct cay_error err = job->err;

        free(w);
        if (err.code != CAY_OK)
                cay_op_fail(c, &err, NULL);
        else
                cay_op_run(c); /* what else there is before it */
}

/* The sandbox that it works in; NULL: none. */
static const char *sandbox_of(const struct cay_op_call *c)
{
        const struct cay_field *f =
                c->op->flags & CAY_OP_INSIDE ? cay_field_find(c->op->fields, "id", strlen("id")) : NULL;

        return f ? *(const char *const *)(const void *)((const char *)c->args + f->offset) : NULL;
}

void cay_op_run(struct cay_op_call *c)
{
        struct cay_service *service = c->world->service;
        const char *sandbox = sandbox_of(c);
        struct cay_viewer viewer = cay_op_viewer(c);
        bool sleeps = sandbox && cay_service_sleeps(service, &viewer, sandbox);
        struct waking *w;

        if (!sandbox || (!sleeps && !cay_service_recording_is_due(service, &viewer, sandbox))) {
                c->op->run(c);
                return;
        }
        w = cay_op_alloc(c, sizeof(*w));
        if (!w)
                return;
        w->op_call = c;
        cay_job_init(&w->call.job, on_ready);
        if (sleeps)
                cay_service_wake(service, &viewer, sandbox, &w->call);
        else
                cay_service_recording_begin(service, &viewer, sandbox, &w->call);
}
