/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets to a daemon: unix, TCP, or a pair whose other end does TLS. This program links only libc, so a
 * helper does TLS (cay-tls HOST; the pair is its descriptor 0, the TCP socket is 3). The helper prints its
 * errors on standard error.
 */
#pragma once

#include <sys/types.h>

#include "foundation/base/error.h"

struct cay_client;

/* Errors say what was tried. *ret_helper: cay_connect_close waits for it; 0: none. */
int cay_connect(const struct cay_client *client, int *ret_fd, pid_t *ret_helper, struct cay_error *err);
void cay_connect_close(int *fd, pid_t *helper); /* may be called twice */
