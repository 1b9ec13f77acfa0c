/* SPDX-License-Identifier: Apache-2.0 */
/* Listening sockets. They are non-blocking and CLOEXEC. Errors say what to do. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "foundation/base/error.h"

#define CAY_LISTEN_MAX 4u /* addresses of one name */

/* One socket per address of host (blocks for the look-up); port 0: the same one for all, the kernel's choice. Count or -1. */
int cay_listen_tcp(const char *host, uint16_t port, int fds[CAY_LISTEN_MAX], struct cay_error *err);
/* A socket that nobody listens on any more is replaced. The descriptor or -1. */
int cay_listen_unix(const char *path, mode_t mode, struct cay_error *err);
/* What connections inherit: no delay, and a silent peer that has vanished is noticed. Ignored where it is not TCP. */
void cay_listen_prepare(int fd);
uint16_t cay_listen_port(int fd); /* 0: not TCP */
