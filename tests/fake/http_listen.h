/* SPDX-License-Identifier: Apache-2.0 */
/* Listening sockets for an HTTP server in a test, made as the keeper makes the daemon's. */
#pragma once

#include "foundation/http/listen.h"
#include "foundation/http/server.h"

static uint16_t http_listen_port; /* of the last TCP socket */

/* The number of the first listener, or -1. */
static inline int http_listen(struct cay_http_server *s, const char *host, uint16_t port,
                              struct cay_tls_context *tls, struct cay_error *err)
{
        int fds[CAY_LISTEN_MAX], count = cay_listen_tcp(host, port, fds, err), first = -1;

        for (int i = 0; i < count; i++) {
                uint16_t bound = cay_listen_port(fds[i]);
                int number = cay_http_server_listen_take(s, fds[i], tls, err);

                if (i > 0)
                        continue;
                first = number;
                http_listen_port = bound;
        }
        return first;
}

/* The socket's file stays. */
static inline int http_listen_unix(struct cay_http_server *s, const char *path, unsigned mode,
                                   struct cay_error *err)
{
        int fd = cay_listen_unix(path, mode, err);

        return fd < 0 ? -1 : cay_http_server_listen_take(s, fd, NULL, err);
}
