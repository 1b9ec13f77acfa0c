/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Confirmations: some things are done only when they were asked for twice, so that a person can be asked in between. The first request is
 * refused with a single-use token; the second carries it and is done.
 *
 * Theory of operation. A token belongs to its owner and to what was asked (a digest of the request): it confirms that and nothing else,
 * once, for a few minutes. It is its own record: when it ends, a little chance, and a keyed digest of all of that, so nothing
 * is kept of one that was given out, and it is as good to the next process as to this one. What was spent is kept: a
 * single-use id in the store, put there before anything is done for it. A right token is spent by a wrong request too. Time is the
 * store's own. Rejected: a table of tokens in the store, which whoever asks and never confirms would fill.
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
        const struct cay_secret *secret; /* borrowed: the daemon's. NULL: nothing can be confirmed */
};

/* A token for `what` (any text that says all that is to be done). */
int cay_confirm_ask(const struct cay_confirms *c, const char *owner, const struct cay_buf *what,
                    uint64_t now_ms, char ret_token[CAY_CONFIRM_TOKEN + 1], struct cay_error *err);
/*
 * 0: it may be one that is still good, and is to be spent (the claim, of its owner) whatever *ret_is_right says; then that decides.
 * CAY_CONFLICT: it is none, or too old.
 */
int cay_confirm_check(const struct cay_confirms *c, const char *owner, const struct cay_buf *what,
                      const char *token, uint64_t now_ms, bool *ret_is_right,
                      char ret_claim[CAY_CONFIRM_CLAIM], struct cay_error *err);
