/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions of the legacy era over HTTP: state between a client's requests. A session belongs to its caller
 * and its address; for others it is not found. It ends by DELETE or after a time without use; it outlives its
 * front (session_store.c).
 *
 * The number of sessions is limited per owner and in total. An owner at its limit evicts its own session that
 * was idle longest, never another owner's. Eviction destroys nothing that the session made.
 */
#pragma once

#include "dialects/mcp/subscriber.h"
#include "dialects/mcp/stream.h"

struct cay_mcp_session {
        struct cay_mcp_session *next;
        struct cay_mcp_client client;
        struct cay_mcp_subscriber subscriber;
        char id[CAY_MCP_ID + 1];
        uint64_t used_ms;
        unsigned next_stream;
        struct cay_mcp_stream own;      /* number 0: for what belongs to no request */
        struct cay_mcp_stream *streams; /* of requests, on the heap */
        struct cay_deferred gone;       /* ended, but for its streams */
        bool is_restored;               /* from the store, and not spoken to since */
};

struct cay_mcp_session *cay_mcp_session_new(struct cay_mcp *m, const struct cay_visitor *v,
                                            const struct cay_mcp_place *place,
                                            struct cay_error *err); /* NULL: no room, err says whose */
/* The session that the request names, if it is the visitor's. NULL: none. */
struct cay_mcp_session *cay_mcp_session_find(struct cay_mcp *m, const char *id, const struct cay_visitor *v,
                                             const struct cay_mcp_place *place);
void cay_mcp_session_end(struct cay_mcp_session *s);
/*
 * The same, but its streams end with the loop's round, after the current write. It cannot be found any more.
 */
void cay_mcp_session_end_soon(struct cay_mcp_session *s);
/* A stream for one of its requests; NULL: no memory. */
struct cay_mcp_stream *cay_mcp_session_stream(struct cay_mcp_session *s);
struct cay_mcp_stream *cay_mcp_session_find_stream(struct cay_mcp_session *s, unsigned nr);
/* session_store.c */
void cay_mcp_session_keep(struct cay_mcp_session *s); /* as it is now */
void cay_mcp_session_drop(struct cay_mcp_session *s);
void cay_mcp_session_load(struct cay_mcp *m);  /* those of the front before */
void cay_mcp_session_sweep(struct cay_mcp *m); /* forgets what is too old */
