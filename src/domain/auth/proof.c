/* SPDX-License-Identifier: Apache-2.0 */
#include "domain/auth/proof.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdio.h>
#include <string.h>

#include "domain/auth/digest.h"
#include "foundation/base/cleanup.h"

#define ROLE_MAX 32
#define CODE_GROUPS 4
#define CODE_CHARS (CODE_GROUPS * 5)

CAY_DEFINE_AUTO(EVP_PKEY, EVP_PKEY_free)
CAY_DEFINE_AUTO(EVP_MD_CTX, EVP_MD_CTX_free)

/* No letters that look alike. */
static const char alphabet[] = "abcdefghijkmnpqrstuvwxyz23456789";
_Static_assert(sizeof(alphabet) == 33, "five bits each");

int cay_proof_pair_from_seed(const uint8_t seed[CAY_PROOF_KEY], struct cay_proof_pair *ret)
{
        cay_auto(EVP_PKEY_freep) EVP_PKEY *key =
                EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed, CAY_PROOF_KEY);
        size_t len = CAY_PROOF_KEY;

        if (!key || EVP_PKEY_get_raw_public_key(key, ret->key, &len) != 1 || len != CAY_PROOF_KEY)
                return -EIO;
        memmove(ret->seed, seed, CAY_PROOF_KEY);
        return 0;
}

/* What is signed and what a code confirms: role and digest. */
static int summarise(const char *role, const void *bytes, size_t len, uint8_t ret[ROLE_MAX + CAY_DIGEST_SIZE])
{
        memset(ret, 0, ROLE_MAX);
        snprintf((char *)ret, ROLE_MAX, "cay agent link: %s", role);
        return cay_digest_sha256(bytes, len, ret + ROLE_MAX);
}

int cay_proof_sign(const struct cay_proof_pair *pair, const char *role, const void *bytes, size_t len,
                   uint8_t ret[CAY_PROOF_SIGNATURE])
{
        cay_auto(EVP_PKEY_freep) EVP_PKEY *key =
                EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, pair->seed, CAY_PROOF_KEY);
        cay_auto(EVP_MD_CTX_freep) EVP_MD_CTX *ctx = EVP_MD_CTX_new();
        uint8_t what[ROLE_MAX + CAY_DIGEST_SIZE];
        size_t size = CAY_PROOF_SIGNATURE;

        if (!key || !ctx || summarise(role, bytes, len, what) < 0 ||
            EVP_DigestSignInit(ctx, NULL, NULL, NULL, key) != 1 ||
            EVP_DigestSign(ctx, ret, &size, what, sizeof(what)) != 1 || size != CAY_PROOF_SIGNATURE)
                return -EIO;
        return 0;
}

bool cay_proof_is_signed(const uint8_t public_key[CAY_PROOF_KEY], const char *role, const void *bytes,
                         size_t len, const uint8_t signature[CAY_PROOF_SIGNATURE])
{
        cay_auto(EVP_PKEY_freep) EVP_PKEY *key =
                EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, public_key, CAY_PROOF_KEY);
        cay_auto(EVP_MD_CTX_freep) EVP_MD_CTX *ctx = EVP_MD_CTX_new();
        uint8_t what[ROLE_MAX + CAY_DIGEST_SIZE];

        return key && ctx && summarise(role, bytes, len, what) == 0 &&
               EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key) == 1 &&
               EVP_DigestVerify(ctx, signature, CAY_PROOF_SIGNATURE, what, sizeof(what)) == 1;
}

int cay_proof_mac(const char *code, const char *role, const void *bytes, size_t len,
                  uint8_t ret[CAY_PROOF_MAC])
{
        uint8_t what[ROLE_MAX + CAY_DIGEST_SIZE];
        cay_auto_secret struct cay_secret key = { 0 };
        struct cay_error err = { 0 };
        int r = summarise(role, bytes, len, what);

        if (r == 0 && cay_secret_set(&key, code, &err) < 0)
                r = -EIO;
        return r == 0 ? cay_digest_hmac(&key, what, sizeof(what), ret) : r;
}

void cay_proof_print(const uint8_t key[CAY_PROOF_KEY], char ret[CAY_PROOF_PRINT])
{
        uint8_t d[CAY_DIGEST_SIZE] = { 0 };

        cay_digest_sha256(key, CAY_PROOF_KEY, d);
        snprintf(ret, CAY_PROOF_PRINT, "%02x%02x-%02x%02x-%02x%02x-%02x%02x", d[0], d[1], d[2], d[3], d[4],
                 d[5], d[6], d[7]);
}

/* Codes */

int cay_proof_code_make(char ret[CAY_PROOF_CODE])
{
        uint8_t random[CODE_CHARS];
        unsigned to = 0;

        if (cay_digest_random(random, sizeof(random)) < 0)
                return -EIO;
        for (unsigned i = 0; i < CODE_CHARS; i++) {
                if (i > 0 && i % 5 == 0)
                        ret[to++] = '-';
                ret[to++] = alphabet[random[i] & 31];
        }
        ret[to] = '\0';
        cay_digest_wipe(random, sizeof(random));
        return 0;
}

bool cay_proof_code_read(const char *text, char ret[CAY_PROOF_CODE])
{
        unsigned count = 0, to = 0;

        for (; *text; text++) {
                char c = *text >= 'A' && *text <= 'Z' ? (char)(*text - 'A' + 'a') : *text;

                if (strchr(" -\t\r\n", c))
                        continue;
                if (!strchr(alphabet, c) || count == CODE_CHARS)
                        return false;
                if (count > 0 && count % 5 == 0)
                        ret[to++] = '-';
                ret[to++] = c;
                count++;
        }
        ret[to] = '\0';
        return count == CODE_CHARS;
}
