/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets to a daemon: unix, TCP, or a pair whose other end speaks TLS for us. This program has no library but libc, so TLS is
 * a helper's (cay-tls HOST, the pair on its descriptor 0, the TCP socket on 3); what goes wrong there it says on standard error.
 */
#pragma once

#include <sys/types.h>

#include "foundation/base/error.h"

struct cay_client;

/* Errors say what was tried. *ret_helper: to be reaped by cay_connect_close; 0: none. */
int cay_connect(const struct cay_client *client, int *ret_fd, pid_t *ret_helper, struct cay_error *err);
void cay_connect_close(int *fd, pid_t *helper); /* fine twice */
