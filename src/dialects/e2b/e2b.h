/* SPDX-License-Identifier: Apache-2.0 */
/*
 * E2B: what its stock clients speak. Three services at one address: the control plane (REST: make, list and
 * end sandboxes), and for each sandbox envd (commands and files: Connect RPC with JSON, and /files) and a
 * code interpreter (/execute, a stream of lines). Translation only; docs/e2b.md says what works and what
 * differs.
 *
 * Theory of operation. The gate has found out whom a request is for (gate_sandbox.h): a sandbox's port, or
 * the daemon, and then the path decides whether it is one of E2B's. A request becomes a struct e2b_request,
 * which calls ops one after the other (dialects/call) and is answered exactly once, in the form of errors
 * that its service has.
 */
#pragma once

#include "daemon/gate/gate.h"
#include "domain/ops/op.h"
#include "foundation/http/request.h"

struct cay_e2b;

/* The world is borrowed. */
int cay_e2b_new(const struct cay_op_world *world, struct cay_e2b **ret, struct cay_error *err);
void cay_e2b_free(struct cay_e2b *e); /* accepts NULL; after the server and the loop */
CAY_DEFINE_AUTO(struct cay_e2b, cay_e2b_free)
void cay_e2b_stop(struct cay_e2b *e); /* the daemon stops: streams end */

/* Is this request for here? v may be that of a request that the gate refused. */
bool cay_e2b_find(const struct cay_e2b *e, const struct cay_http_request *req, const struct cay_visitor *v);
/* What the gate has refused, in the form of this protocol; ends the request. */
void cay_e2b_refuse_gate(struct cay_http_request *req, const struct cay_visitor *v, unsigned status,
                         const char *text);
/* Takes over the request: it will be answered. */
void cay_e2b_handle(struct cay_e2b *e, struct cay_http_request *req, const struct cay_visitor *v);
