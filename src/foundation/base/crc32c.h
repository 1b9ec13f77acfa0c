/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CRC-32C (Castagnoli), to detect bytes that a disk returned wrongly. It does not protect against an
 * attacker. Uses the processor's instruction if there is one (x86-64 with SSE 4.2), and tables otherwise.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "foundation/base/banned.h"

/*
 * Goes on with the sum of what came before (0 to begin with). The sum of two parts, one after the other, is
 * that of the whole.
 */
uint32_t cay_crc32c(uint32_t sum, const void *bytes, size_t len);
/* The same without the instruction; for tests. */
uint32_t cay_crc32c_by_table(uint32_t sum, const void *bytes, size_t len);
