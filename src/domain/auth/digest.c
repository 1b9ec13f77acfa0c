/* SPDX-License-Identifier: Apache-2.0 */
/* The only file that calls libcrypto. */

#include "domain/auth/digest.h"

#include <errno.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/sha.h>
#include <sys/random.h>

_Static_assert(CAY_DIGEST_SIZE == SHA256_DIGEST_LENGTH, "SHA-256");

int cay_digest_sha256(const void *bytes, size_t len, uint8_t ret[CAY_DIGEST_SIZE])
{
        return SHA256(bytes, len, ret) ? 0 : -EIO;
}

int cay_digest_hmac(const struct cay_secret *key, const void *bytes, size_t len, uint8_t ret[CAY_DIGEST_SIZE])
{
        unsigned written = 0;

        if (!HMAC(EVP_sha256(), key->bytes, (int)key->len, bytes, len, ret, &written))
                return -EIO;
        return written == CAY_DIGEST_SIZE ? 0 : -EIO;
}

int cay_digest_random(void *ret, size_t len)
{
        char *at = ret;

        while (len > 0) {
                ssize_t n = getrandom(at, len, 0);

                if (n < 0 && errno == EINTR)
                        continue;
                if (n <= 0)
                        return -EIO;
                at += n;
                len -= (size_t)n;
        }
        return 0;
}

bool cay_digest_equal(const void *a, const void *b, size_t len)
{
        return CRYPTO_memcmp(a, b, len) == 0;
}

void cay_digest_wipe(void *bytes, size_t len)
{
        OPENSSL_cleanse(bytes, len);
}
