/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request that becomes a WebSocket once something else is ready (a browser, a desktop): until then it can
 * be refused like any other. While it is open, the client is authorised again from time to time, and the
 * daemon's stop closes it.
 */
#pragma once

#include "daemon/gate/gate_pass.h"
#include "dialects/rest/rest.h"
#include "foundation/http/ws.h"

struct cay_rest_socket { /* embedded, zeroed */
        struct cay_ws ws;
        struct cay_http_request *req; /* NULL: upgraded or answered */
        const struct cay_op_world *world;
        struct cay_guard guard;
        char request_id[CAY_GATE_ID + 1];
        /* private */
        struct cay_rest_stream **streams;
        struct cay_rest_stream stream;
};

/* False: it is no WebSocket's, or of a page of another origin, and was refused. */
bool cay_rest_socket_check(struct cay_http_request *req, const struct cay_visitor *v);
void cay_rest_socket_init(struct cay_rest_socket *s, const struct cay_rest_place *place,
                          struct cay_http_request *req, const struct cay_visitor *v);
/* The request, to be answered by the caller. */
struct cay_http_request *cay_rest_socket_take(struct cay_rest_socket *s);
void cay_rest_socket_refuse(struct cay_rest_socket *s, const struct cay_error *err);
/* As cay_ws_accept: -1: the request is over, and nothing was opened. */
int cay_rest_socket_open(struct cay_rest_socket *s, const char *protocol,
                         const struct cay_ws_options *options, const struct cay_ws_ops *ops);
void cay_rest_socket_end(struct cay_rest_socket *s); /* before its memory goes; safe at any time */
