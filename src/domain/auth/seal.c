/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/auth/seal.h"

#include <errno.h>
#include <limits.h>
#include <openssl/evp.h>
#include <string.h>

#include "domain/auth/digest.h"
#include "foundation/base/cleanup.h"

#define NONCE 12
#define TAG 16

_Static_assert(NONCE + TAG == CAY_SEAL_EXTRA, "what is added");

CAY_DEFINE_AUTO(EVP_CIPHER_CTX, EVP_CIPHER_CTX_free)

static bool start(EVP_CIPHER_CTX *ctx, const uint8_t *key, const uint8_t *nonce, uint64_t place, bool seals)
{
        uint8_t beside[8];
        int n;

        for (unsigned i = 0; i < sizeof(beside); i++)
                beside[i] = (uint8_t)(place >> (8 * i));
        return EVP_CipherInit_ex(ctx, EVP_aes_256_gcm(), NULL, key, nonce, seals) == 1 &&
               EVP_CipherUpdate(ctx, NULL, &n, beside, sizeof(beside)) == 1;
}

int cay_seal(const uint8_t key[CAY_SEAL_KEY], uint64_t place, const void *bytes, size_t len, uint8_t *ret)
{
        cay_auto(EVP_CIPHER_CTX_freep) EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
        int n = 0, last = 0;

        if (!ctx || len > INT_MAX - CAY_SEAL_EXTRA || cay_digest_random(ret, NONCE) < 0 ||
            !start(ctx, key, ret, place, true) ||
            EVP_CipherUpdate(ctx, ret + NONCE, &n, bytes, (int)len) != 1 ||
            EVP_CipherFinal_ex(ctx, ret + NONCE + n, &last) != 1 ||
            EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_GET_TAG, TAG, ret + NONCE + len) != 1)
                return -EIO;
        return 0;
}

int cay_unseal(const uint8_t key[CAY_SEAL_KEY], uint64_t place, const void *sealed, size_t len, uint8_t *ret)
{
        cay_auto(EVP_CIPHER_CTX_freep) EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
        const uint8_t *in = sealed;
        uint8_t tag[TAG];
        int n = 0, last = 0, inner;

        if (len < CAY_SEAL_EXTRA || len > INT_MAX)
                return -EBADMSG;
        inner = (int)(len - CAY_SEAL_EXTRA);
        memcpy(tag, in + NONCE + inner, TAG);
        if (!ctx || !start(ctx, key, in, place, false) ||
            EVP_CipherUpdate(ctx, ret, &n, in + NONCE, inner) != 1 ||
            EVP_CIPHER_CTX_ctrl(ctx, EVP_CTRL_AEAD_SET_TAG, TAG, tag) != 1 ||
            EVP_CipherFinal_ex(ctx, ret + n, &last) != 1)
                return -EBADMSG;
        return 0;
}
