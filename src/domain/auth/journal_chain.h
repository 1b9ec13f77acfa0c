/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The journal of a sandbox as a chain: the hash of each event covers the event and the hash of the event
 * before it. Whoever changes, inserts or removes an event in the middle breaks every hash behind it. The end
 * can be cut off unnoticed, and who can write the database can compute a new chain: against both, keep a hash
 * (the head) elsewhere and look for it later.
 */
#pragma once

#include <stdint.h>

#include "domain/auth/digest.h"

struct cay_chain_event { /* borrowed; NULL is "" */
        const char *sandbox, *owner, *kind, *detail;
        uint64_t wall_ms;
};

/*
 * SHA-256 over: `before`; then sandbox, owner, kind and detail, each as its length (8 bytes, big-endian) and
 * its bytes; then wall_ms (8 bytes, big-endian). The first event has zeros before it. 0, -ENOMEM or -EIO.
 */
int cay_chain_hash(const uint8_t before[CAY_DIGEST_SIZE], const struct cay_chain_event *e,
                   uint8_t ret[CAY_DIGEST_SIZE]);
