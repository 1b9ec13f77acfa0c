/* SPDX-License-Identifier: Apache-2.0 */
/* One request to a helper for one job of the engine: what every engine wraps around a call of its link. */
#pragma once

#include "core/port_engine.h"
#include "engine/link/link.h"

struct engine_box_call { /* freed when it is ended */
        struct engine_call call;
        struct cay_loop *loop;
        void *engine;               /* whoever asks */
        struct cay_engine_box *box; /* borrowed; may be NULL */
        struct cay_job *job;
        uint32_t type; /* the request's */
};

/* `what` says everything but the type, and is copied; its on_answer ends the copy. Without memory the job is finished with that. */
void engine_box_ask(struct engine_link *l, const struct engine_box_call *what, void *request, const int *fds,
                    unsigned fd_count);
void engine_box_call_end(struct engine_box_call *c, const struct cay_error *err); /* its job is finished */
