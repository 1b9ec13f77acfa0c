/* SPDX-License-Identifier: Apache-2.0 */
/*
 * REST: requests under /api become calls of ops, and back. Contains no behaviour of its own. Routes come from
 * the op table; each is known with and without a slash behind it. Path, query and JSON body fill one struct;
 * a field that comes twice is refused. "/reference" is the reference page, made from the same table. Rows of
 * other dialects share the router, and refused callers get the same errors.
 */
#pragma once

#include "daemon/gate/gate.h"
#include "dialects/rest/rest_stream.h"
#include "foundation/http/server.h"
#include "domain/ops/op.h"

struct cay_rest;

/* where a request is handled; the struct is the call's, what it points to outlives the request */
struct cay_rest_place {
        const struct cay_op_world *world;
        struct cay_rest_stream **streams; /* of rest_stream.h */
        const char *sandbox;              /* whose port was asked for; NULL: the route names it */
};

struct cay_rest_more { /* a row of another dialect, routed and let in as ours are */
        const char *row;
        /* how the reference and the OpenAPI document show it; never run. NULL: they don't */
        const struct cay_op *listed;
        bool is_open; /* for anybody */
        /* Takes over the request. */
        void (*handle)(const void *owner, const struct cay_rest_place *place, struct cay_http_request *req,
                       const struct cay_visitor *v);
        const void *owner;
        /*
         * not 0: `row` is a name below this port of every sandbox ("ws"; NULL: any), however that is asked
         * for
         */
        uint16_t port;
};

struct cay_rest_dialect {
        const struct cay_rest_more *rows;
        unsigned count;
        const char *framed; /* the row that pages of allow_origins may show in a frame; NULL: none */
};

/* The world and the rows are borrowed. */
int cay_rest_new(const struct cay_op_world *world, const struct cay_rest_dialect *dialects,
                 unsigned dialect_count, struct cay_rest **ret, struct cay_error *err);
void cay_rest_free(struct cay_rest *r); /* accepts NULL; after the server */
CAY_DEFINE_AUTO(struct cay_rest, cay_rest_free)

/* The daemon stops: ends streams that would last as long as their clients listen. */
void cay_rest_stop(struct cay_rest *r);

/* Takes over the request: it will be answered. */
void cay_rest_handle(struct cay_rest *r, struct cay_http_request *req, const struct cay_visitor *v);
/* An answer in the one form of errors; ends the request. */
void cay_rest_refuse_field(struct cay_http_request *req, unsigned status, const char *message,
                           const char *field, const char *request_id); /* field: NULL: none is at fault */
void cay_rest_refuse(struct cay_http_request *req, unsigned status, const char *message,
                     const char *request_id);
/* For errors that no handler sees (struct cay_http_server_ops.make_error). */
const char *cay_rest_fault(const struct cay_http_fault *fault, struct cay_buf *fields, struct cay_buf *body);
