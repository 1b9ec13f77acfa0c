/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Browserbase: what its stock SDK speaks, below /v1. Translation only; docs/browserbase.md says what works
 * and what differs.
 *
 * Theory of operation. A session is a sandbox of the template `browser` whose browser lives once
 * (browser_seconds): its name is the session's id, and labels keep what Cay has no field for. Whether the
 * session runs is whether its browser does. A context is a volume with a browser's profile. A request becomes
 * a struct bb_request, which calls ops one after the other (dialects/call) and is answered exactly once.
 */
#pragma once

#include "daemon/gate/gate.h"
#include "domain/ops/op.h"
#include "foundation/http/request.h"

struct cay_bb;

/* The world is borrowed. */
int cay_bb_new(const struct cay_op_world *world, struct cay_bb **ret, struct cay_error *err);
void cay_bb_free(struct cay_bb *bb); /* accepts NULL; after the server and the loop */
CAY_DEFINE_AUTO(struct cay_bb, cay_bb_free)
void cay_bb_stop(struct cay_bb *bb); /* the daemon stops: transfers end */

/* Is this request for here? v may be that of a request that the gate refused. */
bool cay_bb_find(const struct cay_bb *bb, const struct cay_http_request *req, const struct cay_visitor *v);
/* What the gate has refused, in the form of this protocol; ends the request. */
void cay_bb_refuse_gate(struct cay_http_request *req, unsigned status, const char *text);
/* Takes over the request: it will be answered. */
void cay_bb_handle(struct cay_bb *bb, struct cay_http_request *req, const struct cay_visitor *v);
