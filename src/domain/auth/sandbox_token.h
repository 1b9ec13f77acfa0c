/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tokens that are valid for one sandbox, derived from the daemon's secret: HMAC-SHA256 of a word and the
 * sandbox's id, as 64 hexadecimal digits. Nothing is stored, and every front derives the same ones. They are
 * valid as long as the sandbox exists and the secret stays; its id is never used again.
 */
#pragma once

#include <stdbool.h>

#include "domain/auth/secret.h"

#define CAY_SANDBOX_TOKEN_LEN 64

enum cay_sandbox_token_use {
        CAY_SANDBOX_TOKEN_ACCESS,  /* commands and files */
        CAY_SANDBOX_TOKEN_TRAFFIC, /* servers inside, by port */
        /* what is in a volume; in place of a sandbox's id stands one of the volume (e2b_content.c) */
        CAY_SANDBOX_TOKEN_VOLUME,
        CAY_SANDBOX_TOKEN_USE_COUNT
};

/* 0 or -EIO (the library refused; not expected): then ret is "". */
int cay_sandbox_token_make(const struct cay_secret *secret, enum cay_sandbox_token_use use,
                           const char *sandbox, char ret[CAY_SANDBOX_TOKEN_LEN + 1]);
/* In constant time. */
bool cay_sandbox_token_check(const struct cay_secret *secret, enum cay_sandbox_token_use use,
                             const char *sandbox, const char *text);
