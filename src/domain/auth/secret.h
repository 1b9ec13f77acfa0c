/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A separate type for secrets: wiped when done, never printed. The shared secret is text, so that a shell can hold it. It comes from
 * the configuration, or is made at the first start and kept in a file that only its owner may read.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "foundation/base/error.h"

#define CAY_SECRET_MIN 8   /* bytes; less is refused */
#define CAY_SECRET_GOOD 32 /* less can be guessed by somebody with a token and patience: worth a warning */
#define CAY_SECRET_MAX 255
#define CAY_SECRET_FILE "token.secret"

struct cay_secret {
        uint8_t bytes[CAY_SECRET_MAX + 1]; /* a NUL is kept behind the last */
        size_t len;
};

void cay_secret_done(struct cay_secret *s); /* wipes; safe twice */
#define cay_auto_secret cay_auto(cay_secret_done)
int cay_secret_set(struct cay_secret *s, const char *text, struct cay_error *err);
/*
 * Reads CAY_SECRET_FILE in the folder, or makes it (32 random bytes as hex; a whole file or none). CAY_DENIED when it is not
 * a plain file of this process's user that nobody else may read. *ret_made: it was made now.
 */
int cay_secret_load(int dirfd, struct cay_secret *ret, bool *ret_made, struct cay_error *err);
