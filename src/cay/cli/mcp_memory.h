/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `cay mcp` remembers of the messages that it relays, so that a daemon that dies or is replaced does not
 * end the agent's session: how the session began, what it asked to be told of, and which requests have no
 * answer yet. All of it is bounded; what does not fit is relayed all the same and forgotten.
 */
#pragma once

#include "foundation/base/buf.h"

#define CAY_MCP_FLIGHTS_MAX 1024u
#define CAY_MCP_FLIGHT_ID 256u
#define CAY_MCP_SUBSCRIPTIONS_MAX 64u
#define CAY_MCP_KEPT_MAX (64u * 1024) /* bytes of one message that is kept */

struct cay_mcp_memory {
        struct cay_buf hello; /* params of initialize */
        struct cay_buf level; /* of logging/setLevel */
        struct cay_buf subscriptions[CAY_MCP_SUBSCRIPTIONS_MAX];
        char *flights[CAY_MCP_FLIGHTS_MAX]; /* ids as JSON, owned; NULL: free */
        unsigned lines;                     /* of ours, to tell their answers apart */
};

void cay_mcp_memory_done(struct cay_mcp_memory *m); /* fine when zeroed */
/* A line that the client says, before it is passed on. */
void cay_mcp_memory_said(struct cay_mcp_memory *m, const char *line, size_t len);
/* A line of the daemon's: whether it is for the client. */
bool cay_mcp_memory_heard(struct cay_mcp_memory *m, const char *line, size_t len);
/* Appends the first messages for a new connection; 0 or -errno. */
int cay_mcp_memory_again(struct cay_mcp_memory *m, struct cay_buf *out);
/* Appends an answer for each request that has none: it was lost. They are forgotten then. */
int cay_mcp_memory_lost(struct cay_mcp_memory *m, const char *why, struct cay_buf *out);
