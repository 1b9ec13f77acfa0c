/* SPDX-License-Identifier: Apache-2.0 */
/* A stream socket as a duplex, for clients: plain or TLS, connected or on its way to be. */
#pragma once

#include "foundation/http/duplex.h"
#include "foundation/http/tls.h"
#include "foundation/loop/loop.h"

struct cay_socket_end { /* how a connection was lost; zeroed: it was not */
        int sys;        /* -errno */
        enum cay_tls_fault tls;
};

/* Takes fd and tls (NULL: plain), also on failure: NULL. */
struct cay_duplex *cay_socket_open_take(struct cay_loop *loop, int fd, struct cay_tls *tls);
/*
 * Of such a duplex: the other side may close while its user is behind; it hears of the end when it has all
 * that was sent.
 */
void cay_socket_drain(struct cay_duplex *d);
/* Filled when it is lost, for as long as it is open; NULL: nobody wants to know any more. */
void cay_socket_note_end(struct cay_duplex *d, struct cay_socket_end *end);
