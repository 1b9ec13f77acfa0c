/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request of ours handed on to a server at the other end of a duplex (a port inside a box), and its answer back. Both are
 * written anew from what was read, never copied: what belongs to one connection stays on it (hop-by-hop fields, framing), who
 * asked is told in X-Forwarded-For, -Host and -Proto (what the client itself said there is dropped), and the fields that the
 * caller names are kept from the other side. Bodies stream with back-pressure both ways. An Upgrade that the other
 * side grants becomes a splice.
 *
 * A client that leaves, or just ends its own half, ends the request on the other side too.
 */
#pragma once

#include "http/client.h"
#include "http/request.h"
#include "http/splice.h"

struct cay_http_proxy;

struct cay_http_proxy_options {
        const char *path; /* as it goes on the wire, without the query, which is the client's */
        const char *host; /* the Host to name; NULL: the client's */
        const char *const *
                strip; /* request fields that the other side must not see ("authorization"); NULL-terminated */
        const char *const
                *strip_answer; /* fields of the answer that the client must not see; NULL-terminated */
        const char *const
                *add_answer; /* name, value, name, value …, NULL: instead of what the other side says there */
        uint32_t answer_ms; /* from the end of the request to the head of its answer; 0: no deadline */
        uint64_t body_max;
        /* Answers an error and ends the request. */
        void (*fail)(struct cay_http_request *req, const struct cay_http_fault *fault);
        /* All is over and everything is freed. status 0: there was none. NULL: not interesting. */
        void (*on_done)(void *user, unsigned status, uint64_t bytes);
        void *user;
};

/* Takes the request (which nobody has begun to read) and the duplex. Options are copied; the lists must stay. */
void cay_http_proxy(struct cay_http_request *req, struct cay_duplex *upstream, struct cay_loop *loop,
                    const struct cay_http_proxy_options *options);
