/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS for a program that has none: bytes between a socket in the clear (one end of a pair) and a connected
 * TCP socket on which this side is a TLS client. The server has to prove its name with a certificate that is
 * trusted; TLS 1.2 or newer.
 *
 * Theory of operation. One piece is held in each direction; the side that has it full is not read. Everything
 * is non-blocking, one poll waits. The handshake has a deadline; after it the pipe lives as long as its two
 * ends: when the clear one is closed, a goodbye is said and it is over; when the other is, what came before
 * is still handed on.
 */
#pragma once

#include "foundation/base/error.h"

struct cay_tls_pipe {
        int clear, wire;  /* borrowed; the wire is non-blocking */
        const char *host; /* whose certificate it has to be: a name or an address */
        const char *ca;   /* a file of certificates to trust; NULL: the system's */
};

int cay_tls_pipe_run(const struct cay_tls_pipe *p, struct cay_error *err); /* 0: ended as it should */
