/* SPDX-License-Identifier: Apache-2.0 */
/*
 * MCP: the interface for agents. Both eras of the protocol at one address, over Streamable HTTP, WebSocket
 * and lines (what `cay mcp` relays to standard input and output); and the same for a single sandbox, where
 * tools need not name it.
 *
 * Theory of operation. On every transport, a message reaches dispatch.c with a client (caller, session, era's
 * settings) and, if it is a request, a link for its messages. A request becomes a call, which calls ops
 * (dialects/call) and ends exactly once: with an answer, an error, or silence when it was cancelled. Clients
 * are sessions of the legacy era, connections of message transports, or single requests of the modern era;
 * when one ends, its calls are cancelled and its unnamed sandboxes are destroyed.
 */
#pragma once

#include "daemon/gate/gate.h"
#include "foundation/http/request.h"
#include "domain/ops/op.h"

struct cay_mcp;

#define CAY_MCP_GROUPS_MAX 127u

struct cay_mcp_place {                       /* what an address stands for */
        char sandbox[CAY_NAME_MAX + 1];      /* the only one there; "": all */
        bool is_health;                      /* below a port: only whether it is there */
        char groups[CAY_MCP_GROUPS_MAX + 1]; /* of tools, from ?tools=: names separated by commas; "": none */
        bool has_bad_groups;                 /* one of them does not exist, or the query cannot be read */
        bool is_temporary; /* the daemon ends with the session (?temporary): models are told so */
};

#define CAY_MCP_PORT 18765 /* of a sandbox, by host name or below /ports/: its MCP */

int cay_mcp_new(const struct cay_op_world *world, struct cay_mcp **ret,
                struct cay_error *err); /* the world is borrowed */
void cay_mcp_free(struct cay_mcp *m);   /* accepts NULL; after the server and the loop */
CAY_DEFINE_AUTO(struct cay_mcp, cay_mcp_free)
void cay_mcp_stop(struct cay_mcp *m); /* the daemon stops: streams and sessions end */

/* Is this request for here? */
bool cay_mcp_find(const struct cay_http_request *req, const struct cay_visitor *v, struct cay_mcp_place *ret);
/* What the gate has refused, in the form of this protocol; ends the request. */
void cay_mcp_refuse_gate(struct cay_http_request *req, const struct cay_visitor *v, unsigned status,
                         const char *text);
/* Takes the request over: it will be answered. */
void cay_mcp_handle(struct cay_mcp *m, struct cay_http_request *req, const struct cay_visitor *v,
                    const struct cay_mcp_place *place);
