/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Confirmations: some things are done only when requested twice, so that a person can be asked in between.
 * The first request is refused with a single-use token; the second one carries it and is done.
 *
 * Theory of operation. A token belongs to its owner and to a request (by digest). It confirms that request
 * only, once, for a few minutes. A token contains its expiry, a few random bits and a keyed digest of
 * everything, so issued tokens are not stored, and the next process accepts them too. Used tokens are stored:
 * as a single-use id, before anything is done. A wrong request uses a valid token up, too. Time is the
 * store's own. Rejected: a table of tokens in the store, which could be filled by asking without confirming.
 */
#pragma once

#include <stdint.h>

#include "domain/auth/secret.h"
#include "foundation/base/buf.h"
#include "foundation/base/error.h"

#define CAY_CONFIRM_TOKEN 32 /* characters */
#define CAY_CONFIRM_MS (5 * 60 * 1000)
#define CAY_CONFIRM_CLAIM (sizeof("confirm ") + CAY_CONFIRM_TOKEN) /* bytes with the NUL */

struct cay_confirms {
        const struct cay_secret *secret; /* borrowed from the daemon. NULL: nothing can be confirmed */
};

/* A token for `what` (any text that describes all that is to be done). */
int cay_confirm_ask(const struct cay_confirms *c, const char *owner, const struct cay_buf *what,
                    uint64_t now_ms, char ret_token[CAY_CONFIRM_TOKEN + 1], struct cay_error *err);
/*
 * 0: it may still be valid, and must be used up (the claim, of its owner) whatever *ret_is_right says; then
 * that decides. CAY_CONFLICT: not a token, or expired.
 */
int cay_confirm_check(const struct cay_confirms *c, const char *owner, const struct cay_buf *what,
                      const char *token, uint64_t now_ms, bool *ret_is_right,
                      char ret_claim[CAY_CONFIRM_CLAIM], struct cay_error *err);
