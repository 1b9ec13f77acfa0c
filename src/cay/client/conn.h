/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection to the daemon: one request and its answer at a time, in constant memory. Every step waits with
 * poll and a deadline. Callers with their own loop use the descriptor and cay_client_conn_take_bytes.
 *
 * A server may answer before it has read the whole request (mostly a refusal). Writing then stops,
 * cay_client_conn_write returns 1, and the answer is read as usual.
 */
#pragma once

#include <sys/types.h>

#include "foundation/base/error.h"
#include "cay/client/answer.h"
#include "cay/client/url.h"

#define CAY_CONN_PIECE (64u * 1024)
#define CAY_CLIENT_TOKEN_MAX 1024u

struct cay_client { /* the daemon's address and our credentials */
        struct cay_url url;
        char token[CAY_CLIENT_TOKEN_MAX + 1]; /* "": none */
        const char *tls_program;              /* path of cay-tls; NULL: none. Borrowed */
        const char *tls_ca;                   /* a file of certificates to trust; NULL: the system's */
};

struct cay_client_conn {
        int fd;       /* -1: not open */
        pid_t helper; /* that speaks TLS; 0: none */
        bool is_chunked, begun, answered_early;
        struct cay_answer answer;
        size_t at, have; /* of in */
        char in[CAY_CONN_PIECE];
};

#define CAY_REQUEST_CHUNKED UINT64_MAX

struct cay_request {
        const char *method;
        const char *target; /* path and query, escaped */
        const char *type;   /* of the body; NULL: no body */
        const void *body;   /* NULL with a length: follows with cay_client_conn_write */
        uint64_t length;    /* or CAY_REQUEST_CHUNKED */
        int fd;             /* a descriptor to pass (unix sockets only); -1: none */
};

void cay_client_conn_init(struct cay_client_conn *c);
void cay_client_conn_close(struct cay_client_conn *c); /* may be called when not open, and twice */
#define cay_auto_conn cay_auto(cay_client_conn_close)

int cay_client_conn_open(struct cay_client_conn *c, const struct cay_client *client, struct cay_error *err);
/* Sends the head, and the body if given; prepares the reader of the answer. */
int cay_client_conn_send(struct cay_client_conn *c, const struct cay_client *client,
                         const struct cay_request *req, struct cay_error *err);
/* 0; 1: the server has answered already, stop writing; -1. */
int cay_client_conn_write(struct cay_client_conn *c, const void *bytes, size_t len, struct cay_error *err);
int cay_client_conn_write_end(struct cay_client_conn *c, struct cay_error *err);
int cay_client_conn_await_head(struct cay_client_conn *c, int wait_ms,
                               struct cay_error *err); /* -1 ms: no deadline */
/* Body bytes (in the connection's own memory, until the next call); 0: the end; -1. */
ssize_t cay_client_conn_read(struct cay_client_conn *c, const char **ret, int wait_ms, struct cay_error *err);
/* All of the body, which may not be longer than the buffer's maximum. */
int cay_client_conn_collect(struct cay_client_conn *c, struct cay_buf *body, int wait_ms,
                            struct cay_error *err);

/*
 * For loops: takes what is there, without waiting. 1: body bytes (maybe none yet); 0: the answer is complete;
 * -EAGAIN; or -errno.
 */
int cay_client_conn_take_bytes(struct cay_client_conn *c, const char **ret, size_t *ret_len);
/* The head as it is sent. */
int cay_client_conn_format(const struct cay_client *client, const struct cay_request *req,
                           struct cay_buf *out);
