/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes encrypted with AES-256-GCM and bound to their place: what was changed, or moved to another place,
 * cannot be opened. Each has a random nonce, so a key is good for 2^32 of them.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define CAY_SEAL_KEY 32u
#define CAY_SEAL_EXTRA 28u /* bytes that a sealed text is longer: nonce and tag */

/* ret: len + CAY_SEAL_EXTRA bytes. 0 or -EIO (the library refused; not expected). */
int cay_seal(const uint8_t key[CAY_SEAL_KEY], uint64_t place, const void *bytes, size_t len, uint8_t *ret);
/* ret: len - CAY_SEAL_EXTRA bytes. -EBADMSG: it is not what was sealed there. */
int cay_unseal(const uint8_t key[CAY_SEAL_KEY], uint64_t place, const void *sealed, size_t len, uint8_t *ret);
