/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages as server-sent events on one HTTP answer, or, one after the other, on several: a stream with ids keeps what it said, and a
 * client that lost its connection takes it up again behind the last event that it has. Ids are "STREAM-EVENT".
 */
#pragma once

#include "base/buf.h"
#include "dialect/gate/gate_pass.h"
#include "dialect/mcp/rpc.h"
#include "http/request.h"
#include "loop/loop.h"

#define CAY_MCP_EVENT_ID 24u

struct cay_mcp_event;

struct cay_mcp_stream {
        struct cay_mcp_stream *next; /* of its session */
        struct cay_loop *loop;
        unsigned nr, seq;
        bool has_ids, over;
        uint64_t over_ms;
        struct cay_http_request *req; /* attached; NULL: nobody listens */
        struct cay_mcp_event *first, *last;
        size_t bytes, bytes_max; /* that are kept, to be told again */
        struct cay_timer alive;
        struct cay_guard guard;                      /* of whoever listens */
        char asked[CAY_RPC_ID_MAX + 1];              /* id of the request that it answers; "": of none */
        void (*on_lost)(struct cay_mcp_stream *s);   /* its listener has left; may be NULL */
        void (*on_let_go)(struct cay_mcp_stream *s); /* its listener's pass is over; may be NULL */
        void *user;
};

void cay_mcp_stream_init(struct cay_mcp_stream *s, struct cay_loop *loop, unsigned nr, bool has_ids);
void cay_mcp_stream_done(struct cay_mcp_stream *s); /* cuts whoever listens */
/*
 * Answers the request with the stream's events: those behind `after`, then what comes. Takes the request. When the listener's pass is
 * over it is told so and cut off; what the stream is for goes on.
 */
void cay_mcp_stream_attach(struct cay_mcp_stream *s, struct cay_http_request *req,
                           const struct cay_pass *pass, unsigned after, bool primes);
void cay_mcp_stream_put(struct cay_mcp_stream *s, const char *json, size_t len);
void cay_mcp_stream_end(struct cay_mcp_stream *s); /* nothing more will come */
size_t cay_mcp_stream_queued(const struct cay_mcp_stream *s);
/* "3-17"; false: no such id. */
bool cay_mcp_event_id_read(const char *text, unsigned *ret_stream, unsigned *ret_seq);
