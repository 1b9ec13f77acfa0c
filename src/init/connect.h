/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes both ways between a connected socket and a pair of pipes, until both directions have ended. */
#pragma once

#include <stdint.h>

#include "base/error.h"

/*
 * in_fd → sock_fd and sock_fd → out_fd. The end of one direction is passed on (half-close: out_fd is closed
 * then) while the other goes on. All three become non-blocking; out_fd is consumed. *ret_bytes counts both
 * directions.
 */
int cay_connect_pump(int sock_fd, int in_fd, int out_fd, uint64_t *ret_bytes, struct cay_error *err);
