/* SPDX-License-Identifier: Apache-2.0 */
/* One request to a helper for one job of the engine. */
#include "engine/link/box_call.h"

#include <stdlib.h>

void engine_box_ask(struct engine_link *l, const struct engine_box_call *what, void *request, const int *fds,
                    unsigned fd_count)
{
        const struct engine_link_request *head = request;
        struct engine_box_call *c = malloc(sizeof(*c));
        struct cay_error err = { 0 };

        if (!c) {
                cay_fail(&err, CAY_INTERNAL, "no memory for a request");
                cay_job_finish(cay_loop_jobs(what->loop), what->job, &err);
                return;
        }
        *c = *what;
        c->type = head->type;
        engine_link_ask(l, &c->call, request, fds, fd_count);
}

void engine_box_call_end(struct engine_box_call *c, const struct cay_error *err)
{
        cay_job_finish(cay_loop_jobs(c->loop), c->job, err->code != CAY_OK ? err : NULL);
        free(c);
}
