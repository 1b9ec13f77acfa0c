/* SPDX-License-Identifier: Apache-2.0 */
/* Base 64 (RFC 4648, the standard alphabet, padded), whole or not at all. */
#pragma once

#include "base/buf.h"

int cay_base64_encode(const void *bytes, size_t len,
                      struct cay_buf *out); /* appends; 0, -ENOSPC or -ENOMEM */
/* Appends what the text stands for; padding as encode writes it. 0, -EINVAL (nothing is appended), -ENOSPC or -ENOMEM. */
int cay_base64_decode(const char *text, size_t len, struct cay_buf *out);
