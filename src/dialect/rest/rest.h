/* SPDX-License-Identifier: Apache-2.0 */
/*
 * REST: requests under /api become calls of ops, and back. Contains no behaviour of its own. Routes come from the op table; each is
 * known with and without a slash behind it. Path, query and JSON body fill one struct; a field that comes twice is refused.
 * "/" is the reference page, made from the same table.
 */
#pragma once

#include "dialect/gate/gate.h"
#include "http/server.h"
#include "op/op.h"

struct cay_rest;

int cay_rest_new(const struct cay_op_world *world, struct cay_rest **ret,
                 struct cay_error *err); /* the world is borrowed */
void cay_rest_free(struct cay_rest *r);  /* accepts NULL; after the server */
CAY_DEFINE_AUTO(struct cay_rest, cay_rest_free)

/* Takes the request over: it will be answered. */
void cay_rest_handle(struct cay_rest *r, struct cay_http_request *req, const struct cay_visitor *v);
/* An answer in the one form of errors; ends the request. */
void cay_rest_refuse(struct cay_http_request *req, unsigned status, const char *message,
                     const char *request_id);
/* For errors that no handler sees (struct cay_http_server_ops.make_error). */
const char *cay_rest_fault(const struct cay_http_fault *fault, struct cay_buf *body);
