/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream of events as an HTTP answer: server-sent events, or lines of JSON. A silent stream sends
 * keepalives, so that proxies do not close it, and to find out whether its client is gone.
 */
#pragma once

#include "foundation/base/buf.h"
#include "foundation/http/request.h"
#include "foundation/loop/loop.h"

struct cay_rest_events {
        struct cay_http_request *req; /* borrowed; NULL: not begun, or done */
        struct cay_loop *loop;
        struct cay_buf event;   /* one, encoded */
        struct cay_timer alive; /* fires when it was silent */
        bool spoke;             /* since it last rang */
        bool is_sse;            /* else NDJSON */
};

void cay_rest_events_init(struct cay_rest_events *e, bool is_sse);
int cay_rest_events_begin(struct cay_rest_events *e, struct cay_loop *loop,
                          struct cay_http_request *req); /* 0 or -EPIPE */
ssize_t cay_rest_events_put(struct cay_rest_events *e, const char *id, const char *kind, const char *json,
                            size_t len); /* how much waits, or -errno */
/* The last event of a stream whose client must be disconnected. */
void cay_rest_events_let_go(struct cay_rest_events *e, const char *why);
/* The same as JSON, for other encodings. 0 or -errno. */
int cay_rest_let_go_put(struct cay_buf *out, const char *why);
void cay_rest_events_done(struct cay_rest_events *e); /* before the request is ended; fine twice */
