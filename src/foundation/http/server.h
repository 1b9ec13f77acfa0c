/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP server: listeners, connections and their limits. HTTP/1.1 (and 1.0, one request per connection).
 *
 * Limits. Connections are counted in total and per peer: an IPv4 address, an IPv6 network (/64), a unix uid.
 * A connection above the limit evicts another one, of the same peer or of all: the oldest unauthenticated one
 * that waits for its client (anonymous.h), else the one that has been idle for longest. So silent connections
 * lock nobody out, and authenticated ones are evicted last. If all are busy, the new one is refused (429 or
 * 503) and closed; a TLS client gets no answer. When the process has no descriptors left, accepting pauses
 * for a moment instead of spinning. Busy connections of one owner, from however many addresses, are at most
 * half of those that other owners leave free (fair.h).
 *
 * Memory. Buffered input and unread answers of a connection are charged to its owner (cay_http_request_own;
 * all anonymous connections share one) before they are stored. When there is no room, a request gets 503 and
 * a WebSocket 1013. An answer that has begun is aborted.
 *
 * Errors that no handler sees (a malformed head, a limit, a deadline) are answered with a body that the
 * caller makes, so that all errors have one form.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/buf.h"
#include "foundation/base/error.h"
#include "foundation/http/head.h"
#include "foundation/http/request.h"
#include "foundation/http/tls.h"
#include "foundation/loop/loop.h"

struct cay_http_server;

struct cay_http_server_ops {
        /* The head is complete; route the request and answer, now or later. */
        void (*on_request)(struct cay_http_server *s, struct cay_http_request *req);
        /*
         * Appends lines for the head and the body of an error answer; returns its Content-Type (static);
         * NULL: no body.
         */
        const char *(*make_error)(struct cay_http_server *s, const struct cay_http_fault *fault,
                                  struct cay_buf *fields, struct cay_buf *body);
        /*
         * Work for a request begins (its head, a piece of its body or the end of it), or, with NULL, ends;
         * may be NULL.
         */
        void (*on_turn)(struct cay_http_server *s, const struct cay_http_request *req);
        void (*on_idle)(
                struct cay_http_server *s); /* stopped, and the last connection has ended; may be NULL */
};

struct cay_http_config {
        const struct cay_http_server_ops *ops;
        struct cay_http_head_limits head;
        uint64_t body_max;           /* announced or sent; a handler may want less */
        uint32_t head_ms;            /* from the first byte of a head (or from connecting) to its last */
        uint32_t body_ms;            /* within this time, body_step more bytes of an expected body … */
        uint32_t body_step;          /* … or its end */
        uint32_t idle_ms;            /* between requests */
        uint32_t stall_ms;           /* maximum time without the client reading queued data */
        unsigned connections;        /* in total; unix sockets get a few more, so that they stay reachable */
        unsigned per_peer;           /* 0: no limit */
        struct cay_budgets *budgets; /* borrowed: memory held for clients; NULL: not counted */
        const char *all_fields;      /* borrowed: lines (with CRLF) for every answer; NULL: none */
};

void cay_http_config_init(struct cay_http_config *config); /* the defaults; ops is NULL */

struct cay_http_server *cay_http_server_new(struct cay_loop *loop, const struct cay_http_config *config,
                                            void *user, struct cay_error *err);
void cay_http_server_free(
        struct cay_http_server *s); /* closes everything at once; not from inside a callback */
CAY_DEFINE_AUTO(struct cay_http_server, cay_http_server_free)
/* How many answers were begun, by the first digit of their status; lives as long as the server. */
#define CAY_HTTP_CLASSES 6u
const uint64_t *cay_http_server_answers(const struct cay_http_server *s);
void *cay_http_server_user(struct cay_http_server *s);

/*
 * A listening socket (foundation/http/listen.h). Takes fd, also on failure. tls is borrowed and must outlive
 * the server; NULL: plain. Returns the listener's number (0, 1, …), or -1.
 */
int cay_http_server_listen_take(struct cay_http_server *s, int fd, struct cay_tls_context *tls,
                                struct cay_error *err);
/*
 * A connected socket from elsewhere; counts as from listener `listener`. 0 or -errno; fd is taken either way.
 */
int cay_http_server_accept_take(struct cay_http_server *s, int fd, unsigned listener);

/*
 * Stops accepting and ends idle connections. Busy ones end after their answer, upgraded ones when their user
 * closes them. on_idle is called when all have ended.
 */
void cay_http_server_stop(struct cay_http_server *s);
unsigned cay_http_server_count(const struct cay_http_server *s); /* connections now */
