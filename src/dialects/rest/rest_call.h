/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request that has become a call of an op: its responder, and its end.
 *
 * When a client's key was revoked or its token has expired, its stream ends with an event that says so. An op
 * that works only for its client (it follows something) is notified of the disconnect. Another op, which a
 * disconnect would end together with what it runs, continues to its own end, and its output is dropped.
 */
#pragma once

#include "dialects/rest/rest.h"
#include "dialects/rest/rest_args.h"
#include "dialects/rest/rest_events.h"
#include "dialects/rest/rest_stream.h"
#include "foundation/loop/loop.h"

struct cay_rest_call {
        struct cay_op_call call;
        struct cay_http_request *req; /* NULL: ended */
        struct cay_rest_args args;
        void *values; /* owned: what args fills */
        struct cay_deferred release;
        struct cay_rest_events events;
        struct cay_rest_stream stream;
        struct cay_rest_stream **streams; /* borrowed: where it is told of */
        struct cay_guard guard;           /* while it streams */
        bool is_let_go;                   /* the client was told why, and gets no more */
        bool runs;                        /* the op has it */
        bool too_large;                   /* the body is: 413, whatever the op says */
};

/* NULL: no memory; the request is not touched. */
struct cay_rest_call *cay_rest_call_new(const struct cay_op *op, const struct cay_op_world *world,
                                        struct cay_http_request *req, const struct cay_visitor *v);
/* What a call takes from its request and its caller, on either path. */
void cay_rest_call_fill(struct cay_op_call *c, const struct cay_op *op, const struct cay_op_world *world,
                        const struct cay_http_request *req, const struct cay_visitor *v);
void cay_rest_call_fail(struct cay_rest_call *rc, const struct cay_error *err, const char *field);
/* Runs the op, or first waits for the JSON body. */
void cay_rest_call_begin(struct cay_rest_call *rc);
/*
 * An error as clients see it, appended, and its status. What went wrong inside goes to the log; the client
 * gets the number to ask about. status: 0 as the code says, else this one.
 */
void cay_rest_call_error(struct cay_buf *out, const struct cay_op_call *c, const struct cay_error *err,
                         const char *field, unsigned *status);
unsigned cay_rest_success(enum cay_op_status status);
