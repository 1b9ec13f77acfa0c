/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Base 64 (RFC 4648): the standard alphabet with padding, and the URL alphabet without. On failure nothing is
 * appended.
 */
#pragma once

#include <sys/types.h>

#include "foundation/base/buf.h"

int cay_base64_encode(const void *bytes, size_t len,
                      struct cay_buf *out); /* appends; 0, -ENOSPC or -ENOMEM */
/*
 * Appends the decoded bytes; padding must be as encode writes it. 0, -EINVAL (nothing is appended), -ENOSPC
 * or -ENOMEM.
 */
int cay_base64_decode(const char *text, size_t len, struct cay_buf *out);

/* With '-' and '_' and without padding, as in URLs. Strict: one form per value. */
#define CAY_BASE64URL_LEN(bytes) (((bytes)*4 + 2) / 3)

/* Writes CAY_BASE64URL_LEN(len) characters and a NUL; returns their number, or -ENOSPC. */
ssize_t cay_base64url_encode(const void *bytes, size_t len, char *ret, size_t size);
/* Returns the number of bytes, -EINVAL (alphabet, length, stray bits at the end) or -ENOSPC. */
ssize_t cay_base64url_decode(const char *text, size_t len, void *ret, size_t size);
