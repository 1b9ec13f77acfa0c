/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's side of HTTP/1.1: one request and its answer on a duplex of their own, which is closed behind them. The owner
 * embeds the struct, zeroed. What answers is as little trusted as any client: heads and bodies pass the same readers.
 *
 * The request's body is written piece by piece with back-pressure; the answer's comes to on_body, which takes as much as
 * it can use and is offered the rest after cay_http_client_resume(). Exactly one of on_end, on_upgraded and on_fail ends it;
 * all callbacks come from the loop. After the end, or cay_http_client_abort(), the owner frees itself with cay_loop_defer.
 */
#pragma once

#include "foundation/base/buf.h"
#include "foundation/http/body.h"
#include "foundation/http/duplex.h"
#include "foundation/http/head.h"
#include "foundation/loop/loop.h"

#define CAY_HTTP_CLIENT_HIGH (128u * 1024) /* request bytes that wait at most */

struct cay_http_client;

struct cay_http_client_ops {
        /* The answer's head is in `head`; fields by cay_http_client_header. Not for 1xx. */
        void (*on_response)(struct cay_http_client *c);
        size_t (*on_body)(struct cay_http_client *c, const void *bytes, size_t len); /* how many were taken */
        void (*on_end)(struct cay_http_client *c);
        /* 101: the duplex is the owner's now (cay_http_client_take_duplex). NULL: never asked for. */
        void (*on_upgraded)(struct cay_http_client *c);
        void (*on_room)(struct cay_http_client *c); /* a write took less than it was given; may be NULL */
        void (*on_fail)(struct cay_http_client *c, const struct cay_http_fault *fault); /* 502 or 504 */
};

struct cay_http_client_request {
        enum cay_http_method method;
        const char *target;  /* path and query, as they go on the wire */
        const char *query;   /* NULL, or what follows a question mark */
        const char *fields;  /* lines with CRLF, Host among them; none about framing or the connection */
        const char *upgrade; /* NULL, or the protocol to change to */
        enum cay_http_framing framing; /* of the body: none, a length, or chunks */
        uint64_t length;
        uint32_t
                answer_ms; /* until the answer's head is there, counted from the end of the request; 0: no deadline */
};

struct cay_http_client {
        const struct cay_http_client_ops *ops;
        struct cay_http_head head;

        /* below: private to client.c */
        struct cay_duplex_user user;
        struct cay_duplex *duplex; /* NULL: ended */
        struct cay_loop *loop;
        enum cay_http_method method;
        enum cay_http_framing framing;
        uint64_t left; /* of the request's body, with a length */
        bool sent;     /* the request is complete */
        bool upgrade, answered, held, resumed, eof, room_owed, kicked;
        unsigned interims;
        uint32_t answer_ms;
        struct cay_buf out, in;
        struct cay_buf head_bytes; /* the answer's, with NULs behind names and values */
        struct cay_http_head_search search;
        struct cay_http_body body;
        struct cay_timer timer;
        struct cay_deferred kick;
};

/* Takes the duplex. 0, or -ENOSPC, -ENOMEM: it was closed and nothing is told. */
int cay_http_client_begin(struct cay_http_client *c, struct cay_duplex *duplex, struct cay_loop *loop,
                          const struct cay_http_client_request *request,
                          const struct cay_http_client_ops *ops);
size_t cay_http_client_write(struct cay_http_client *c, const void *bytes,
                             size_t len); /* how many were taken */
void cay_http_client_write_end(struct cay_http_client *c);
void cay_http_client_resume(struct cay_http_client *c);
void cay_http_client_abort(struct cay_http_client *c); /* fine when ended */

const char *cay_http_client_header(const struct cay_http_client *c,
                                   const char *name); /* the first, or NULL */
void cay_http_client_header_at(const struct cay_http_client *c, unsigned i, const char **ret_name,
                               const char **ret_value);
/* Inside on_upgraded: the duplex, and what came behind the head (owed to the duplex, freed by the caller). */
struct cay_duplex *cay_http_client_take_duplex(struct cay_http_client *c, struct cay_buf *ret_rest);
