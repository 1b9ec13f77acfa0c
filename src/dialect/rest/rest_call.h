/* SPDX-License-Identifier: Apache-2.0 */
/* One request that has become a call of an op: its doors, and its end. */
#pragma once

#include "dialect/rest/rest.h"
#include "dialect/rest/rest_args.h"
#include "loop/loop.h"

struct cay_rest_call {
        struct cay_op_call call;
        struct cay_http_request *req; /* NULL: ended */
        struct cay_rest_args args;
        void *values; /* owned: what args fills */
        struct cay_deferred release;
        struct cay_buf event; /* one, encoded */
        bool runs;            /* the op has it */
        bool is_sse;          /* else NDJSON */
        bool too_large;       /* the body is: 413, whatever the op says */
};

/* NULL: no memory; the request is not touched. */
struct cay_rest_call *cay_rest_call_new(const struct cay_op *op, const struct cay_op_world *world,
                                        struct cay_http_request *req, const struct cay_visitor *v);
void cay_rest_call_fail(struct cay_rest_call *rc, const struct cay_error *err, const char *field);
/* Runs the op, or first waits for the JSON body. */
void cay_rest_call_begin(struct cay_rest_call *rc);
