/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All of a request but its body, into an op's arguments: path, query, and fields that stand for some
 * (Idempotency-Key, Last-Event-ID, Range).
 */
#pragma once

#include "dialects/rest/rest_args.h"
#include "domain/ops/op.h"

int cay_rest_fill(struct cay_rest_args *a, const struct cay_http_request *req,
                  const struct cay_route_match *m, struct cay_error *err);
/*
 * Where a field comes from: a name in the path, else the body of an op that takes one as JSON, else the
 * query.
 */
bool cay_rest_is_in_path(const struct cay_op *op, const char *name);
bool cay_rest_takes_body(const struct cay_op *op);
bool cay_rest_accepts(const struct cay_http_request *req, const char *type);
