/* SPDX-License-Identifier: Apache-2.0 */
/* Listening sockets. They are non-blocking and CLOEXEC. Errors say what to do. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "foundation/base/error.h"

#define CAY_LISTEN_MAX 4u /* addresses of one name */

/*
 * One socket per address of host (blocks for the lookup). Port 0: the kernel chooses, the same port for all.
 * Count or -1.
 */
int cay_listen_tcp(const char *host, uint16_t port, int fds[CAY_LISTEN_MAX], struct cay_error *err);
/* A socket without a listener is replaced. The descriptor or -1. */
int cay_listen_unix(const char *path, mode_t mode, struct cay_error *err);
/*
 * Options that connections inherit: no delay, and keepalive to detect vanished peers. Ignored where it is not
 * TCP.
 */
void cay_listen_prepare(int fd);
uint16_t cay_listen_port(int fd); /* 0: not TCP */
