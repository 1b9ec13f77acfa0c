/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call of the Docker Engine API after the other, each on a connection of its own.
 *
 * Theory of operation. A call is tried again, after growing pauses, as long as nobody can have heard it:
 * Docker could not be reached at all. One that may be repeated (it asks, or has the same result the second
 * time) is also tried again when the connection broke. Each has a deadline for everything together. The
 * version in every path is the lower one of ours and the daemon's, learnt by the first call.
 */
#pragma once

#include <sys/socket.h>

#include "foundation/base/buf.h"
#include "foundation/base/error.h"
#include "cay-docker/options.h"
#include "cay-docker/resolver.h"
#include "foundation/http/socket.h"
#include "foundation/http/client.h"
#include "foundation/http/tls.h"

#define DOCKER_API_NEWEST 41u /* 1.41: what we were written against */
#define DOCKER_API_OLDEST 40u
#define DOCKER_BODY_MAX (8u * 1024 * 1024)
#define DOCKER_PATH_MAX 8192u /* a build has its labels and arguments in it */

struct docker_api {
        struct cay_loop *loop;                /* borrowed */
        const struct docker_options *options; /* borrowed */
        struct cay_tls_context *tls;          /* owned; NULL: plain */
        struct sockaddr_storage address;      /* TCP: as it was resolved last */
        unsigned address_len;
        struct docker_resolver resolver;
        unsigned minor; /* of the API's version; 0: not asked yet */
};

struct docker_call;

struct docker_call_request {
        enum cay_http_method method;
        const char *path; /* behind the version */
        const char *type; /* of the body; NULL: JSON */
        const void *body; /* borrowed until the end; NULL: none */
        size_t body_len;
        bool repeatable;
        bool upgrade; /* to a raw stream: ends with on_stream instead, where Docker agrees */
        bool unversioned;
        unsigned tries;   /* at most; 0: 12, about seven seconds */
        uint32_t wait_ms; /* 0: 30 s */
};

struct docker_call { /* embedded, zeroed; free again inside on_done, on_stream */
        /*
         * status 0: no answer, err says why. `body` is there until the owner lets go of it
         * (docker_call_done).
         */
        void (*on_done)(struct docker_call *c);
        void (*on_stream)(struct docker_call *c, struct cay_duplex *duplex, struct cay_buf *rest);
        /* For answers without an end: pieces as they come, then on_done. NULL: collected in `body`. */
        void (*on_piece)(struct docker_call *c, const char *bytes, size_t len);
        unsigned status;
        struct cay_buf body;
        struct cay_error err;

        /* below: private to api.c */
        struct docker_api *api;
        struct docker_call_request req;
        char path[DOCKER_PATH_MAX];
        struct cay_http_client http;
        struct cay_timer timer; /* between tries, and the deadline */
        uint64_t until_ms;
        unsigned tries;
        size_t body_sent;
        bool active;
        struct cay_socket_end lost; /* how its connection ended */
};

int docker_api_init(struct docker_api *api, struct cay_loop *loop, const struct docker_options *o,
                    struct cay_error *err); /* resolves names, reads certificates: blocks */
void docker_api_done(struct docker_api *api);
void docker_api_look_up(
        struct docker_api *api); /* Docker cannot be reached: it may have another address by now */
void docker_call_begin(struct docker_call *c, struct docker_api *api, const struct docker_call_request *req);
void docker_call_abort(struct docker_call *c); /* tells nothing; fine when it is not active */
void docker_call_done(struct docker_call *c);  /* frees the body */
/*
 * An answer's own words ({"message": …}), made printable, into err with a code after its status. Always -1.
 */
int docker_call_fail(const struct docker_call *c, const char *what, struct cay_error *err);
