/* SPDX-License-Identifier: Apache-2.0 */
/* Small helpers for C strings. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "foundation/base/banned.h"

/*
 * Copies src with its NUL into dst; false (and dst is "") when it does not fit into size bytes. size is at
 * least 1.
 */
bool cay_str_copy(char *dst, size_t size, const char *src);
bool cay_str_starts(const char *s, const char *prefix);
