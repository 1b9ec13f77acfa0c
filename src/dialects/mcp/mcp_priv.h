/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of this folder share about the whole. */
#pragma once

#include "dialects/mcp/call.h"

#define CAY_MCP_MESSAGE_MAX (12u * 1024 * 1024)
#define CAY_MCP_SESSIONS_MAX 4096u
#define CAY_MCP_SESSIONS_OWNER 256u
#define CAY_MCP_MODERN "2026-07-28"
#define CAY_MCP_LEGACY "2025-11-25"

#define CAY_MCP_ID 32u /* of a session or a task: hexadecimal digits */

struct cay_mcp_session;
struct cay_mcp_channel;
struct cay_mcp_subscriber;
struct cay_mcp_task;

struct cay_mcp {
        const struct cay_op_world *world;
        struct cay_mcp_session *sessions;
        unsigned session_count;
        struct cay_mcp_channel *channels;
        struct cay_mcp_subscriber *subscribers; /* clients that are notified of changes */
        struct cay_mcp_task *tasks;             /* newest first */
        struct cay_timer sweep, registry;
        uint64_t registry_seen;
        bool is_stopping;
        bool is_loading; /* sessions from the store: nothing of them changes there */
};

/* dispatch.c */
bool cay_mcp_version_is_legacy(const char *version);
/* A request: becomes a call, or is answered immediately. Takes rpc. */
void cay_mcp_take(struct cay_mcp_client *p, struct cay_rpc *rpc, struct cay_mcp_link *link);
void cay_mcp_go_on(struct cay_mcp_client *p);         /* a call has ended: the next queued one begins */
void cay_mcp_begin_telling(struct cay_mcp_client *p); /* of changes, from now on */
/* A notification or a response. Takes rpc. */
void cay_mcp_hear(struct cay_mcp_client *p, struct cay_rpc *rpc);

/* post.c: takes a POST over, whose head is fine. */
void cay_mcp_post(struct cay_mcp *m, struct cay_http_request *req, const struct cay_visitor *v,
                  const struct cay_mcp_place *place);
/* mcp.c: an answer without a call; ends the request. */
void cay_mcp_refuse(struct cay_http_request *req, unsigned status, int code, const char *text);
/* channel.c */
void cay_mcp_channel_open(struct cay_mcp *m, struct cay_http_request *req, const struct cay_visitor *v,
                          const struct cay_mcp_place *place);
void cay_mcp_channel_stop(struct cay_mcp *m);

struct cay_viewer cay_mcp_viewer(const struct cay_caller *caller); /* borrows the caller */
uint64_t cay_mcp_now(const struct cay_mcp *m);                     /* wall clock */
bool cay_mcp_make_id(char ret[CAY_MCP_ID + 1]);                    /* that nobody guesses */
