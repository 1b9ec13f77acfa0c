/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An MCP client: the part of a session, a connection or a single request that calls use. Embedded in its
 * owner, which outlives it. Unnamed sandboxes that a client made are removed with it.
 */
#pragma once

#include "dialects/mcp/mcp.h"
#include "foundation/loop/loop.h"

#define CAY_MCP_VERSION_MAX 15u
#define CAY_MCP_MADE_MAX 256u /* maximum of sandboxes that are cleaned up for a client */

enum cay_mcp_level { /* of log messages; the words are the protocol's */
                     CAY_MCP_DEBUG,
                     CAY_MCP_INFO,
                     CAY_MCP_NOTICE,
                     CAY_MCP_WARNING,
                     CAY_MCP_ERROR,
                     CAY_MCP_CRITICAL,
                     CAY_MCP_ALERT,
                     CAY_MCP_EMERGENCY,
                     CAY_MCP_SILENT, /* none asked for */
};

struct cay_mcp_call;
struct cay_mcp_subscriber;

struct cay_mcp_made {
        struct cay_mcp_made *next;
        char id[CAY_NAME_MAX + 1];
};

struct cay_mcp_client {
        struct cay_mcp *mcp;
        struct cay_caller caller;
        char sandbox[CAY_NAME_MAX + 1];        /* the only one; "": all */
        char version[CAY_MCP_VERSION_MAX + 1]; /* "": not initialized */
        char groups[CAY_MCP_GROUPS_MAX + 1];   /* whose tools are listed, separated by commas */
        bool is_temporary;                     /* all that it makes ends with it, named or not */
        enum cay_mcp_level level;
        bool can_elicit;
        bool cleans; /* false: a single request; what it makes ends by its own timeouts */
        bool is_over;
        unsigned next_id;                      /* of requests that we send */
        struct cay_mcp_subscriber *subscriber; /* for changes, owned by the owner; NULL: none */
        struct cay_mcp_call *calls;
        struct cay_timer turn; /* of a call that waits */
        struct cay_mcp_made *made;
        unsigned made_count;
        void (*on_changed)(struct cay_mcp_client *p); /* something that outlives a front; may be NULL */
};

void cay_mcp_client_init(struct cay_mcp_client *p, struct cay_mcp *mcp, const struct cay_visitor *v,
                         const struct cay_mcp_place *place);
/* Cancels pending calls and destroys unnamed sandboxes that it made. */
void cay_mcp_client_end(struct cay_mcp_client *p);
/*
 * Its unnamed sandboxes are not destroyed any more: the client was disconnected and did not end deliberately.
 */
void cay_mcp_client_keep_made(struct cay_mcp_client *p);
void cay_mcp_client_made(struct cay_mcp_client *p, const char *sandbox);
void cay_mcp_client_forget(struct cay_mcp_client *p, const char *sandbox); /* it was destroyed */
bool cay_mcp_level_read(const char *word, enum cay_mcp_level *ret);
const char *cay_mcp_level_word(enum cay_mcp_level level);
