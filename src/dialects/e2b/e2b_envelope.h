/* SPDX-License-Identifier: Apache-2.0 */
/* Envelopes of Connect streams: a byte of flags, four of length (big endian), the payload. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "foundation/base/buf.h"

#define E2B_ENVELOPE_HEAD 5u
#define E2B_ENVELOPE_END 2u /* flag: the last one, of an answer */

/*
 * The one envelope that a request consists of. 0, or -1: it is cut, packed, has unknown flags, or something
 * comes behind it. Points into bytes.
 */
int e2b_envelope_read(const char *bytes, size_t len, const char **ret, size_t *ret_len);
/* Appends one; 0 or -errno. */
int e2b_envelope_put(struct cay_buf *out, unsigned flags, const char *payload, size_t len);
