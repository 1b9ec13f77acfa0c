/* SPDX-License-Identifier: Apache-2.0 */
/* SHA-1 by OpenSSL. */
#include "foundation/http/digest.h"

#include <errno.h>
#include <openssl/evp.h>

int cay_sha1(const void *bytes, size_t len, uint8_t ret[CAY_SHA1_LEN])
{
        return EVP_Digest(bytes, len, ret, NULL, EVP_sha1(), NULL) == 1 ? 0 : -EIO;
}
