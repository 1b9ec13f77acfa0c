/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-256, HMAC and random bytes, from OpenSSL, and a comparison in constant time. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "domain/auth/secret.h"

#define CAY_DIGEST_SIZE 32

/* 0 or -EIO (the library refused; not expected). */
int cay_digest_sha256(const void *bytes, size_t len, uint8_t ret[CAY_DIGEST_SIZE]);

/* The same of bytes that come in pieces. */
struct cay_digest;
struct cay_digest *cay_digest_new(void); /* NULL: no memory */
int cay_digest_add(struct cay_digest *d, const void *bytes, size_t len);
int cay_digest_end(struct cay_digest *d, uint8_t ret[CAY_DIGEST_SIZE]); /* once */
void cay_digest_free(struct cay_digest *d);                             /* accepts NULL */
void cay_digest_text(const uint8_t digest[CAY_DIGEST_SIZE],
                     char ret[2 * CAY_DIGEST_SIZE + 1]); /* hexadecimal */

int cay_digest_hmac(const struct cay_secret *key, const void *bytes, size_t len,
                    uint8_t ret[CAY_DIGEST_SIZE]);
int cay_digest_random(void *ret, size_t len);
bool cay_digest_equal(const void *a, const void *b, size_t len);
void cay_digest_wipe(void *bytes, size_t len);
