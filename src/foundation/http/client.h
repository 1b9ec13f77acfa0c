/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client's side of HTTP/1.1: one request and its answer on a separate duplex, which is closed afterwards.
 * The owner embeds the struct, zeroed. Servers are not trusted either: heads and bodies pass the same
 * readers.
 *
 * The request's body is written piece by piece with back-pressure; the answer's body is passed to on_body,
 * which accepts as much as it can use and gets the rest after cay_http_client_resume(). Exactly one of
 * on_end, on_upgraded and on_fail ends it; all callbacks run from the loop. After the end, or
 * cay_http_client_abort(), the owner frees itself with cay_loop_defer.
 */
#pragma once

#include "foundation/base/buf.h"
#include "foundation/http/body.h"
#include "foundation/http/duplex.h"
#include "foundation/http/head.h"
#include "foundation/loop/loop.h"

#define CAY_HTTP_CLIENT_HIGH (128u * 1024) /* maximum of queued request bytes */

struct cay_http_client;

struct cay_http_client_ops {
        /* The answer's head is in `head`; fields by cay_http_client_header. Not for 1xx. */
        void (*on_response)(struct cay_http_client *c);
        /* returns how many bytes were accepted */
        size_t (*on_body)(struct cay_http_client *c, const void *bytes, size_t len);
        void (*on_end)(struct cay_http_client *c);
        /* 101: the duplex now belongs to the owner (cay_http_client_take_duplex). NULL: never requested. */
        void (*on_upgraded)(struct cay_http_client *c);
        /* room again after a write was accepted only in part; may be NULL */
        void (*on_room)(struct cay_http_client *c);
        void (*on_fail)(struct cay_http_client *c, const struct cay_http_fault *fault); /* 502 or 504 */
};

struct cay_http_client_request {
        enum cay_http_method method;
        const char *target;  /* path and query, as sent */
        const char *query;   /* NULL, or what follows a question mark */
        const char *fields;  /* lines with CRLF, Host among them; none about framing or the connection */
        const char *upgrade; /* NULL, or the protocol to change to */
        enum cay_http_framing framing; /* of the body: none, a length, or chunks */
        uint64_t length;
        /* until the answer's head is there, counted from the end of the request; 0: no deadline */
        uint32_t answer_ms;
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

/* Takes the duplex. 0, or -ENOSPC, -ENOMEM: it was closed and there are no callbacks. */
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
/*
 * Inside on_upgraded: the duplex, and the bytes after the head (still to be acknowledged to the duplex, freed
 * by the caller).
 */
struct cay_duplex *cay_http_client_take_duplex(struct cay_http_client *c, struct cay_buf *ret_rest);
