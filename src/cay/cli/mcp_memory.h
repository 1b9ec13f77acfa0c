/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `cay mcp` remembers of the messages that it relays, so that the agent's session survives a daemon that
 * dies or is replaced: how the session began, its subscriptions, and pending requests. Everything is bounded;
 * what does not fit is relayed but not remembered.
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
        unsigned lines;                     /* ids of our own requests, to recognise their answers */
};

void cay_mcp_memory_done(struct cay_mcp_memory *m); /* also on a zeroed one */
/* A line from the client, before it is passed on. */
void cay_mcp_memory_said(struct cay_mcp_memory *m, const char *line, size_t len);
/* A line from the daemon: whether it is for the client. */
bool cay_mcp_memory_heard(struct cay_mcp_memory *m, const char *line, size_t len);
/* Appends the first messages for a new connection; 0 or -errno. */
int cay_mcp_memory_again(struct cay_mcp_memory *m, struct cay_buf *out);
/* Appends an error answer for each pending request, because it was lost, and forgets them. */
int cay_mcp_memory_lost(struct cay_mcp_memory *m, const char *why, struct cay_buf *out);
