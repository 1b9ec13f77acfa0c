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

/* struct cay_digest is libcrypto's own, under a name that others may know. */
static EVP_MD_CTX *context(struct cay_digest *d)
{
        return (EVP_MD_CTX *)(void *)d;
}

struct cay_digest *cay_digest_new(void)
{
        EVP_MD_CTX *c = EVP_MD_CTX_new();

        if (c && EVP_DigestInit_ex(c, EVP_sha256(), NULL) != 1) {
                EVP_MD_CTX_free(c);
                c = NULL;
        }
        return (struct cay_digest *)(void *)c;
}

int cay_digest_add(struct cay_digest *d, const void *bytes, size_t len)
{
        return EVP_DigestUpdate(context(d), bytes, len) == 1 ? 0 : -EIO;
}

int cay_digest_end(struct cay_digest *d, uint8_t ret[CAY_DIGEST_SIZE])
{
        return EVP_DigestFinal_ex(context(d), ret, NULL) == 1 ? 0 : -EIO;
}

void cay_digest_free(struct cay_digest *d)
{
        EVP_MD_CTX_free(context(d));
}

void cay_digest_text(const uint8_t digest[CAY_DIGEST_SIZE], char ret[2 * CAY_DIGEST_SIZE + 1])
{
        static const char digits[] = "0123456789abcdef";

        for (unsigned i = 0; i < CAY_DIGEST_SIZE; i++) {
                ret[2 * i] = digits[digest[i] >> 4];
                ret[2 * i + 1] = digits[digest[i] & 15];
        }
        ret[2 * CAY_DIGEST_SIZE] = '\0';
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
