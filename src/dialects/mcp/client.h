/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who speaks: the part of a session, a connection or a lone request that calls look at. Embedded in its owner, which outlives it.
 * What a client made and did not name goes with it.
 */
#pragma once

#include "dialects/mcp/mcp.h"
#include "foundation/loop/loop.h"

#define CAY_MCP_VERSION_MAX 15u
#define CAY_MCP_MADE_MAX 256u /* sandboxes that a client is held to clean up */

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
        enum cay_mcp_level level;
        bool can_elicit;
        bool cleans; /* false: a lone request, what it makes lives by its own time-outs */
        bool is_over;
        unsigned next_id;                      /* of requests that we send */
        struct cay_mcp_subscriber *subscriber; /* for changes, the owner's; NULL: nobody to tell */
        struct cay_mcp_call *calls;
        struct cay_timer turn; /* of a call that waits */
        struct cay_mcp_made *made;
        unsigned made_count;
        void (*on_changed)(struct cay_mcp_client *p); /* something that outlives a front; may be NULL */
};

void cay_mcp_client_init(struct cay_mcp_client *p, struct cay_mcp *mcp, const struct cay_visitor *v,
                         const struct cay_mcp_place *place);
/* Cancels what is under way and destroys what it made without a name. */
void cay_mcp_client_end(struct cay_mcp_client *p);
/* What it made without a name is no longer its to destroy: it was let go, and did not end of its client's will. */
void cay_mcp_client_keep_made(struct cay_mcp_client *p);
void cay_mcp_client_made(struct cay_mcp_client *p, const char *sandbox);
void cay_mcp_client_forget(struct cay_mcp_client *p, const char *sandbox); /* it was destroyed */
bool cay_mcp_level_read(const char *word, enum cay_mcp_level *ret);
const char *cay_mcp_level_word(enum cay_mcp_level level);
