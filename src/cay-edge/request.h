/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of a sandbox, on their way to the one server that may see the secrets: read strictly, passed on
 * with placeholders replaced.
 *
 * Theory of operation. Everything is decided by the head, which two readers must agree about
 * (foundation/http/head.h); a body is followed to its end, so that nothing in it is taken for a head. A
 * placeholder is replaced only in the value of its own header, also inside the base 64 of "Basic". Everything
 * else passes unchanged, a placeholder elsewhere too: without its secret it is worth nothing. Host must be
 * the host of the connection, and the target a path: a server that has many names must not be asked for
 * another with our secret in hand. After a request for an upgrade nothing is replaced any more.
 */
#pragma once

#include "foundation/base/buf.h"
#include "foundation/http/body.h"
#include "foundation/http/head.h"
#include "links/net/edge_message.h"

#define EDGE_HEAD_MAX 32768u
/* Room that `out` needs for one more step. */
#define EDGE_OUT_MAX (EDGE_HEAD_MAX + CAY_HTTP_LINES_MAX * EDGE_VALUE)

enum edge_request_state { EDGE_AT_HEAD, EDGE_IN_BODY, EDGE_RAW, EDGE_REFUSED };

struct edge_request {
        const struct edge_order *order; /* borrowed */
        enum edge_request_state state;
        struct cay_http_head_search search;
        struct cay_http_body body;
        struct cay_http_fault fault; /* EDGE_REFUSED: what to answer */
        bool is_other_host;          /* likewise: why */
        bool is_begun;               /* a first request was passed on */
};

/*
 * Takes what it can from the front of `in` and appends to `out`, one head or one piece of a body at a time.
 * Returns whether anything was done: false: more input is needed, or it is EDGE_REFUSED, or `out` is full.
 */
bool edge_request_step(struct edge_request *r, struct cay_buf *in, struct cay_buf *out);
