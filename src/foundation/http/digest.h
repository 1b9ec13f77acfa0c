/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The digest required by the WebSocket handshake. It is not a security measure there: it only shows that the
 * server knows the protocol.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CAY_SHA1_LEN 20u

int cay_sha1(const void *bytes, size_t len, uint8_t ret[CAY_SHA1_LEN]); /* 0 or -EIO */
