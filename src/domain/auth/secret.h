/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A separate type for secrets: wiped when done, never printed. The shared secret is text, so that a shell can
 * hold it. It comes from the configuration, or is made at the first start and kept in a file that only its
 * owner may read.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/error.h"

#define CAY_SECRET_MIN 8   /* bytes; a shorter one is refused */
#define CAY_SECRET_GOOD 32 /* a shorter one can be guessed from a token: gives a warning */
#define CAY_SECRET_MAX 255
#define CAY_SECRET_FILE "token.secret"

struct cay_secret {
        uint8_t bytes[CAY_SECRET_MAX + 1]; /* a NUL follows the last byte */
        size_t len;
};

void cay_secret_done(struct cay_secret *s); /* wipes; may be called twice */
#define cay_auto_secret cay_auto(cay_secret_done)
int cay_secret_set(struct cay_secret *s, const char *text, struct cay_error *err);
/*
 * Reads that file (CAY_SECRET_FILE) in the folder, or makes it (32 random bytes as hex, written whole or not
 * at all). CAY_DENIED: not a plain file of this process's user that nobody else may read. *ret_made: it was
 * made now.
 */
int cay_secret_load(int dirfd, const char *file, struct cay_secret *ret, bool *ret_made,
                    struct cay_error *err);
