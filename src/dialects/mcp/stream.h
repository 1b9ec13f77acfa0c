/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages as server-sent events on one HTTP answer, or, one after the other, on several: a stream with ids
 * keeps its events, and a client that lost its connection resumes after its last event. Ids are
 * "STREAM-EVENT".
 *
 * Events are charged to the owner's budget before they are kept. Without room the oldest events of the same
 * stream are evicted, and finally the new one is not kept. `forgotten` records that, so that no client gets a
 * stream with a gap.
 */
#pragma once

#include "foundation/base/buf.h"
#include "daemon/gate/gate_pass.h"
#include "dialects/mcp/rpc.h"
#include "foundation/http/request.h"
#include "foundation/loop/loop.h"

#define CAY_MCP_EVENT_ID 24u

struct cay_mcp_event;

struct cay_mcp_stream {
        struct cay_mcp_stream *next; /* of its session */
        struct cay_loop *loop;
        unsigned nr, seq;
        bool has_ids, over;
        uint64_t over_ms;
        struct cay_http_request *req; /* attached; NULL: no receiver */
        struct cay_mcp_event *first, *last;
        size_t bytes, bytes_max; /* that are kept, to be told again */
        unsigned forgotten;      /* of the last event that is not kept; 0: all are */
        struct cay_budget budget;
        struct cay_budget_owner *owner; /* NULL: what it keeps is not counted */
        struct cay_timer alive;
        struct cay_guard guard;                      /* of whoever listens */
        char asked[CAY_RPC_ID_MAX + 1];              /* id of the request that it answers; "": of none */
        void (*on_lost)(struct cay_mcp_stream *s);   /* its receiver has disconnected; may be NULL */
        void (*on_let_go)(struct cay_mcp_stream *s); /* its receiver's credential has expired; may be NULL */
        void *user;
};

void cay_mcp_stream_init(struct cay_mcp_stream *s, struct cay_loop *loop, unsigned nr, bool has_ids);
/* What it keeps counts for that owner. budgets NULL: for nobody. Before anything is kept. */
void cay_mcp_stream_charge(struct cay_mcp_stream *s, struct cay_budgets *budgets, const char *owner);
void cay_mcp_stream_done(struct cay_mcp_stream *s); /* cuts whoever listens */
/*
 * Answers the request with the stream's events: those after `after`, then new ones. Takes the request. When
 * the receiver's credential expires it is notified and disconnected; the stream's call continues.
 */
void cay_mcp_stream_attach(struct cay_mcp_stream *s, struct cay_http_request *req,
                           const struct cay_pass *pass, unsigned after, bool primes);
void cay_mcp_stream_put(struct cay_mcp_stream *s, const char *json, size_t len);
void cay_mcp_stream_end(struct cay_mcp_stream *s); /* nothing more will come */
size_t cay_mcp_stream_queued(const struct cay_mcp_stream *s);
/* Whether one more message of that size fits: to the current receiver, or kept for later. */
bool cay_mcp_stream_fits(const struct cay_mcp_stream *s, size_t len);
/* Whether that request has room for all events behind `after`. */
bool cay_mcp_stream_fits_all(const struct cay_mcp_stream *s, const struct cay_http_request *req,
                             unsigned after);
/* "3-17"; false: no such id. */
bool cay_mcp_event_id_read(const char *text, unsigned *ret_stream, unsigned *ret_seq);
