/* SPDX-License-Identifier: Apache-2.0 */
/* Base 64 with '-' and '_', without padding, as in URLs. Strict: one form per value, whole or not at all. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#include "base/banned.h"

#define CAY_BASE64URL_LEN(bytes) (((bytes)*4 + 2) / 3)

/* Writes CAY_BASE64URL_LEN(len) characters and a NUL; returns their number, or -ENOSPC. */
ssize_t cay_base64url_encode(const void *bytes, size_t len, char *ret, size_t size);
/* Returns the number of bytes, -EINVAL (alphabet, length, stray bits at the end) or -ENOSPC. */
ssize_t cay_base64url_decode(const char *text, size_t len, void *ret, size_t size);
