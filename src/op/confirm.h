/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Confirmations: some things are done only when they were asked for twice, so that a person can be asked in between. The first request is
 * refused with a single-use token; the second carries it and is done.
 *
 * A token belongs to its owner and to what was asked (a digest of the request): it confirms that and nothing else, once, for a few
 * minutes. What is kept is a digest of it. Tokens are gone with the process: then the first request is simply made again.
 */
#pragma once

#include <stdint.h>

#include "base/buf.h"
#include "base/error.h"

#define CAY_CONFIRM_TOKEN 32 /* characters */
#define CAY_CONFIRM_MS (5 * 60 * 1000)
#define CAY_CONFIRM_ROWS 256      /* that wait, of all owners */
#define CAY_CONFIRM_OWNER_ROWS 16 /* of one: the oldest goes */
#define CAY_CONFIRM_DIGEST 32

struct cay_confirms { /* zeroed: none */
        struct cay_confirm_row {
                uint8_t token[CAY_CONFIRM_DIGEST], what[CAY_CONFIRM_DIGEST], owner[CAY_CONFIRM_DIGEST];
                uint64_t expires_ms; /* 0: free */
        } rows[CAY_CONFIRM_ROWS];
};

/* A token for `what` (any text that says all that is to be done). CAY_LIMIT: too many wait. */
int cay_confirm_ask(struct cay_confirms *c, const char *owner, const struct cay_buf *what, uint64_t now_ms,
                    char ret_token[CAY_CONFIRM_TOKEN + 1], struct cay_error *err);
/* Spends it, right or wrong for this request. CAY_CONFLICT: it is none, was used, is too old, or was for something else. */
int cay_confirm_take(struct cay_confirms *c, const char *owner, const struct cay_buf *what, const char *token,
                     uint64_t now_ms, struct cay_error *err);
