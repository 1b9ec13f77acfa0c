/* SPDX-License-Identifier: Apache-2.0 */
/*
 * JSON text without a byte above 127: clients decode each piece of a stream by itself, wherever it was cut.
 * Pure.
 */
#pragma once

#include <stddef.h>

#include "foundation/base/buf.h"

/* Appends valid JSON text with \uXXXX for everything else than ASCII. 0 or -errno. */
int e2b_ascii_put(struct cay_buf *out, const char *json, size_t len);
