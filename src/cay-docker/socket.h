/* SPDX-License-Identifier: Apache-2.0 */
/* A stream socket as a duplex (foundation/http/duplex.h): to Docker, plain or TLS, connected or on its way to be; and a front's end of a box link. */
#pragma once

#include "foundation/http/duplex.h"
#include "foundation/http/tls.h"
#include "foundation/loop/loop.h"

struct docker_socket_end { /* how a connection was lost; zeroed: it was not */
        int sys;           /* -errno */
        enum cay_tls_fault tls;
};

/* Takes fd and tls (NULL: plain), also on failure: NULL. */
struct cay_duplex *docker_socket_open_take(struct cay_loop *loop, int fd, struct cay_tls *tls);
/* Of such a duplex: the other side may close while its user is behind; it hears of the end when it has all that was sent. */
void docker_socket_drain(struct cay_duplex *d);
/* Filled when it is lost, for as long as it is open; NULL: nobody wants to know any more. */
void docker_socket_note_end(struct cay_duplex *d, struct docker_socket_end *end);
