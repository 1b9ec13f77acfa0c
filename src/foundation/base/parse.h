/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Strict text → number: the whole string must match, no sign, no blanks, no leading "+"; overflow is refused.
 * All return 0, -EINVAL (not of this form) or -ERANGE (too big); output is written on success only. Decimals:
 * at most 18, only in front of a unit that has parts (not "1.5b", "0.5ms"); what does not come out whole is
 * rounded up.
 */
#pragma once

#include <stdint.h>

#include "foundation/base/banned.h"

int cay_parse_u64(const char *s, uint64_t *ret);
/*
 * "256m", "1g", "64k", "1048576", "1.5g"; suffixes b k m g t (also kb mb gb tb kib mib gib tib), any case,
 * powers of 1024.
 */
int cay_parse_size(const char *s, uint64_t *ret_bytes);
/* "60", "0.5", "90s", "10m", "2h", "250ms"; default unit seconds. */
int cay_parse_duration(const char *s, uint64_t *ret_ms);
/* "0.5", "2", "1.25" → thousandths; at most three decimals. */
int cay_parse_milli(const char *s, uint64_t *ret_milli);
