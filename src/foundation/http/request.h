/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request as its handler sees it, and the answer to it.
 *
 * Lifetime. server.h's on_request passes a request to a handler when its head is complete and valid; the body
 * is not read yet. The handler answers exactly once, now or later: cay_http_response_send(), or begin … end,
 * or upgrade, or abort; each of those ends the request and invalidates the pointer. Until then the pointer is
 * valid, whatever the client does. When the client disconnects, on_gone is called and writes are discarded.
 * The request must still be ended (by any of these calls). A handler that keeps nothing open needs no
 * on_gone.
 *
 * Body. It is read when the handler asks for it (cay_http_request_read or _collect), so a client with
 * "Expect: 100-continue" gets its 100 only from a handler that wants the body. (Ask before the answer begins:
 * afterwards a 100 cannot be sent.) on_body accepts as many bytes as it can use; if it accepts less than it
 * got, no more is read until cay_http_request_resume(). When the answer is complete, a short unread rest of
 * the body is read and dropped; else the connection ends with the answer.
 *
 * on_body, on_body_end, on_drain and on_gone are called from the loop, never inside one of the handler's own
 * calls.
 */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "foundation/base/buf.h"
#include "foundation/http/body.h"
#include "foundation/http/duplex.h"
#include "foundation/http/head.h"
#include "foundation/http/target.h"

#define CAY_HTTP_NO_LENGTH UINT64_MAX /* as the length of an answer: unknown */

struct cay_http_conn;
struct cay_http_request;

struct cay_http_peer {
        bool is_unix, is_tls, is_loopback; /* unix sockets count as loopback */
        unsigned listener;                 /* which one, as numbered by cay_http_server_listen */
        struct ucred cred;                 /* unix only; when it connected */
        /* unix only: the connection, for callers that query the kernel themselves; borrowed, 0: none */
        int fd;
        char address[INET6_ADDRSTRLEN]; /* "" for unix */
        uint16_t port;
};

enum cay_http_gone {
        /*
         * The client sends no more but may still read; TCP cannot distinguish that from a disconnect. Not an
         * end in itself. Handlers that work only while a client listens (a stream, a foreground command) may
         * treat it as one.
         */
        CAY_HTTP_GONE_HALF,
        CAY_HTTP_GONE_LOST, /* disconnected, was reset, or did not read its answer in time */
        /* sent a body that is malformed, truncated, too large or too slow; was answered */
        CAY_HTTP_GONE_BROKEN,
        CAY_HTTP_GONE_STOPPED, /* the server ends */
};

struct cay_http_handler {
        size_t (*on_body)(struct cay_http_request *req, const void *bytes,
                          size_t len); /* returns how many bytes were accepted */
        void (*on_body_end)(struct cay_http_request *req);
        void (*on_drain)(struct cay_http_request *req); /* the written data was sent; NULL: not interested */
        void (*on_gone)(struct cay_http_request *req,
                        enum cay_http_gone how); /* HALF at most once, then at most one other */
};

enum cay_http_answer { CAY_HTTP_UNANSWERED, CAY_HTTP_PLAIN, CAY_HTTP_AS_CHUNKS, CAY_HTTP_BODYLESS };

struct cay_http_request {
        const struct cay_http_handler *handler; /* set by the handler; NULL: no callbacks */
        void *user;                             /* the handler's */

        enum cay_http_method method;
        unsigned minor; /* HTTP/1.minor */
        struct cay_http_target target;
        const char *host; /* lower case, without port; "" when an HTTP/1.0 client gave none */
        uint16_t port;    /* of Host; 0: not given */
        struct cay_http_peer peer;
        bool has_body;       /* there may be one */
        uint64_t body_bytes; /* announced; CAY_HTTP_NO_LENGTH: chunked */
        bool upgrade;        /* requests another protocol: the Upgrade field says which */
        unsigned line_count;
        struct cay_buf body; /* filled by cay_http_request_collect */
        int passed_fd; /* received with it over a unix socket; owned, closed with the request; -1: none */

        /* below: private to http1.c, request.c and response.c */
        struct cay_http_conn *conn; /* NULL: gone */
        struct cay_buf fields;      /* of the answer, as lines */
        enum cay_http_answer answer;
        uint64_t answer_left; /* with CAY_HTTP_PLAIN; CAY_HTTP_NO_LENGTH: until close */
        bool expects, keep_alive;
        bool reading, held, resumed, patient, collects, told_end, told_half;
        char *head; /* the head's bytes, inside this block */
        struct cay_http_line lines[];
};

/* The value of the first field of that name (any case), or NULL. */
const char *cay_http_request_header(const struct cay_http_request *req, const char *name);
unsigned cay_http_request_header_count(const struct cay_http_request *req, const char *name);
/* Field number i of line_count, as it was sent. */
void cay_http_request_header_at(const struct cay_http_request *req, unsigned i, const char **ret_name,
                                const char **ret_value);

/*
 * Sets the authenticated owner, "": unknown. Memory held for its connection is charged to that name; a
 * connection with an owner is no longer anonymous. False: so many other connections of that owner are busy
 * that this request is to be refused (429).
 */
bool cay_http_request_own(struct cay_http_request *req, const char *owner);

/* For cay_http_request_read: no deadline between pieces of the body; for interactive input. */
#define CAY_HTTP_PATIENT 1u

/*
 * Passes the body to on_body, then calls on_body_end (also without a body). 0; -EFBIG: announced larger than
 * max, nothing is read.
 */
int cay_http_request_read(struct cay_http_request *req, uint64_t max, unsigned flags);
/* Collects the whole body in req->body, then calls on_body_end. Returns as above. */
int cay_http_request_collect(struct cay_http_request *req, size_t max);
void cay_http_request_resume(struct cay_http_request *req); /* on_body takes again */

/*
 * Adds a field to the answer, before it begins. 0; -EINVAL: not a field name, a value that would end its
 * line, or a field that the library writes itself (Content-Length, Transfer-Encoding, Connection, Date);
 * -ENOSPC, -ENOMEM.
 */
int cay_http_response_add(struct cay_http_request *req, const char *name, const char *value);
/* Whether there is room for an answer of that size; true when the client is gone. */
bool cay_http_response_fits(const struct cay_http_request *req, size_t len);
/*
 * Sends the whole answer. type: Content-Type, NULL: none. Ends the request. If there is no room for it, it
 * becomes a 503.
 */
void cay_http_response_send(struct cay_http_request *req, unsigned status, const char *type,
                            const void *bytes, size_t len);
/*
 * Head of an answer that is written piece by piece. length: of the body, or CAY_HTTP_NO_LENGTH. 0 or -EPIPE
 * (gone).
 */
int cay_http_response_begin(struct cay_http_request *req, unsigned status, const char *type, uint64_t length);
/*
 * Returns the number of queued bytes, or -EPIPE (client gone, or more than announced), -ENOSPC, -ENOMEM.
 * Nothing is lost below CAY_CONN_OUT_MAX, but from CAY_CONN_HIGH on a writer should wait for on_drain.
 * -ENOBUFS: there is no memory for it, and the connection will be ended so that the client notices.
 */
ssize_t cay_http_response_write(struct cay_http_request *req, const void *bytes, size_t len);
size_t cay_http_response_queued(const struct cay_http_request *req);
void cay_http_response_end(struct cay_http_request *req); /* less than announced: as abort */
void cay_http_response_abort(
        struct cay_http_request *req); /* also ends the connection, so that the client notices */
/*
 * 101: the connection becomes a plain stream. NULL: the client is gone, or the request cannot be upgraded;
 * the request is ended either way.
 */
struct cay_duplex *cay_http_response_upgrade(struct cay_http_request *req, const char *protocol);

const char *cay_http_status_text(unsigned status); /* "Not Found"; "" for what is not in the table */
