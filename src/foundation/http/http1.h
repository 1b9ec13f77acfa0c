/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One server-side connection: requests in, answers out, one after the other. Used by server.c, request.c and
 * response.c; handlers see request.h only.
 *
 *   AWAIT     the next head. Idle before its first byte, then the head's deadline runs.
 *   BUSY      a request is with its handler; its body is read when and as the handler wants it.
 *   DRAIN     answered; what is left of the body is dropped. Then AWAIT.
 *   UPGRADED  101 was sent; the bytes belong to the duplex's user.
 *   ENDING    the last answer leaves, or nothing does; no more input.
 */
#pragma once

#include "foundation/http/body.h"
#include "foundation/http/conn.h"
#include "foundation/http/duplex.h"
#include "foundation/http/request.h"
#include "foundation/http/server.h"

enum cay_http_state {
        CAY_HTTP_AWAIT,
        CAY_HTTP_BUSY,
        CAY_HTTP_DRAIN,
        CAY_HTTP_UPGRADED,
        CAY_HTTP_ENDING,
};

struct cay_http_conn {
        struct cay_conn conn;
        struct cay_http_server *server;    /* borrowed: outlives it */
        struct cay_http_conn *prev, *next; /* of the server's list */
        struct cay_http_peer peer;
        uint64_t peer_key; /* key under which it is counted */
        /*
         * Memory budgets: input, queued output, and kept data (bodies, messages); each has a small guaranteed
         * amount.
         */
        struct cay_budget in, out, held, queue; /* queue: what a duplex's user sends */
        struct cay_budget_owner *owner;         /* NULL: the server counts none */
        enum cay_http_state state;
        struct cay_http_request *req; /* BUSY; owned by its handler */
        struct cay_http_head_search search;
        struct cay_http_body body;
        /* body bytes when its deadline was last put off; in DRAIN: when dropping began */
        uint64_t step_total;
        bool processing; /* inside process(): others only set the state and process() continues */
        bool head_begun, skipped_line, is_idle, is_extra;
        bool is_anonymous; /* it is in the server's list of unauthenticated connections */
        struct cay_http_conn *anonymous_prev, *anonymous_next;
        struct cay_http_conn *idle_prev, *idle_next; /* of the server's list of idle ones, oldest first */
        struct cay_duplex duplex;                    /* UPGRADED */
        size_t owed;                                 /* bytes that the duplex's user has not acknowledged */
        bool room_owed, eof_told;
        struct cay_deferred release;
};

/* Takes fd and tls. 0 or -errno. `c` is zeroed but for server, peer and peer_key. */
int cay_http_conn_open_take(struct cay_http_conn *c, struct cay_loop *loop, int fd, struct cay_tls *tls);
/* Ends now, in any state; its request is notified that the server stops. */
void cay_http_conn_kill(struct cay_http_conn *c);
void cay_http_conn_retire(struct cay_http_conn *c); /* immediately if idle, else after the current answer */
/* Answers with an error and ends; no request is with a handler. */
void cay_http_conn_refuse(struct cay_http_conn *c, const struct cay_http_fault *fault);

/*
 * From response.c: the answer is complete and the request's memory is freed. `broken`: the client must
 * notice.
 */
void cay_http_conn_answered(struct cay_http_conn *c, bool keep_alive, bool broken);
void cay_http_conn_upgraded(struct cay_http_conn *c);
/* http1_memory.c: charged to all unauthenticated clients together until the owner is known. 0 or -ENOMEM. */
int cay_http_conn_charge(struct cay_http_conn *c);
void cay_http_conn_own(struct cay_http_conn *c, const char *name);
/* From request.c: the handler wants (more of) the body. */
void cay_http_conn_read_on(struct cay_http_conn *c);

/* From duplex_conn.c, in state UPGRADED. */
void cay_http_conn_feed_duplex(struct cay_http_conn *c);
void cay_http_conn_duplex_drained(struct cay_http_conn *c);
extern const struct cay_duplex_ops cay_http_conn_duplex_ops;

/* From request.c. */
struct cay_http_request *cay_http_request_new(struct cay_http_conn *c, const struct cay_http_head *head,
                                              const char *bytes, size_t len,
                                              struct cay_http_fault *ret_fault);
void cay_http_request_free(struct cay_http_request *req);
/* From response.c: the head of an answer into the connection's queue. fields: lines; length as for begin. */
struct cay_http_answer_head {
        const struct cay_buf *fields;
        const char *type;
        uint64_t length;
        unsigned status, minor;
        bool keep_alive;
};
int cay_http_response_write_head(struct cay_http_conn *c, const struct cay_http_answer_head *h);
/* An answer that no handler makes. */
void cay_http_conn_write_error(struct cay_http_conn *c, const struct cay_http_fault *fault, bool is_head,
                               bool keep_alive);

/* From server.c. */
const struct cay_http_config *cay_http_server_config(const struct cay_http_server *s);
const char *cay_http_server_date(struct cay_http_server *s); /* the Date field's line, with CRLF */
void cay_http_server_note_answer(struct cay_http_server *s, unsigned status);
bool cay_http_server_is_stopping(const struct cay_http_server *s);
void cay_http_server_know(struct cay_http_server *s, struct cay_http_conn *c); /* it has authenticated */
bool cay_http_server_has_room(const struct cay_http_server *s,
                              const struct cay_http_conn *c); /* its owner may be served on it too */
void cay_http_server_set_idle(struct cay_http_server *s, struct cay_http_conn *c, bool idle);
void cay_http_server_forget(struct cay_http_server *s,
                            struct cay_http_conn *c); /* it has ended; its memory follows */
